"""Files for who looks at the explorer in a browser: they go to its downloads, not to the disk of the machine that serves it."""

from __future__ import annotations

import re
from io import BytesIO

from textual.app import App


class Delivering(App[int]):
    """An app that can give files to a browser."""

    def download(self, name: str, data: bytes) -> None:
        """Give a file to the browser that shows this app."""
        plain = re.sub(r"[^\w.+-]+", "_", name, flags=re.ASCII) or "file"  # it stands in a header
        self.deliver_binary(BytesIO(data), save_filename=plain, mime_type="application/octet-stream")
