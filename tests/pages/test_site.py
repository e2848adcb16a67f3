"""The site: built without a warning, it has every page of the tables, no dead link, and no error in a browser."""

from __future__ import annotations

import asyncio
import functools
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest

from relax_explorer.core import ops, passes
from relax_explorer.core.codes import CODES
from relax_explorer.ui.commands import COMMANDS
from relax_explorer.viz.words import WORDS

pytest.importorskip("mkdocs")
pytest.importorskip("material")
ROOT = Path(__file__).parents[2]
PLACE = "https://OWNER.github.io/relax-explorer/"
FILES = "https://github.com/OWNER/relax-explorer/blob/main/"
RAW = "https://raw.githubusercontent.com/OWNER/relax-explorer/main/"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    # Its makers tell at each start until when they care for it.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return place


class Links(HTMLParser):
    """The links and the anchors of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := told.get(name))}
        self.links += [value for name in ("href", "src") if (value := told.get(name))]


def test_no_link_is_dead_and_nothing_comes_from_elsewhere(site: Path) -> None:
    pages = {
        path.relative_to(site).as_posix(): Links(path.read_text("utf-8")) for path in site.rglob("*.html")
    }
    dead, foreign = [], []
    for name, page in pages.items():
        if name == "404.html":  # its links begin at the address of the site
            continue
        for link in page.links:
            if re.match(r"https?:|//|mailto:|data:|javascript:", link):
                foreign += [(name, link)] if re.search(r"\.(js|css|woff2?)$", link) else []
                continue
            target, anchor = urldefrag(urljoin(f"/{name}", link))
            path = unquote(target).lstrip("/") or "index.html"
            if not (site / path).is_file() or (
                anchor and path in pages and unquote(anchor) not in pages[path].anchors
            ):
                dead.append((name, link))
    assert len(pages) > 150
    assert dead == []
    assert foreign == []


def test_the_reference_has_everything(site: Path) -> None:
    def headings(name: str) -> set[str]:
        return Links((site / "reference" / name).read_text("utf-8")).anchors

    operators = "".join(path.read_text("utf-8") for path in (site / "reference" / "operators").glob("*.html"))
    assert {
        name for name in ops.names() if f'id="{_slug(name.removeprefix("relax."))}"' not in operators
    } == set()
    assert {path.stem for path in (site / "reference" / "passes").glob("*.html")} == {
        "index",
        *passes.names(),
    }
    assert set(CODES) <= {anchor[:6].upper() for anchor in headings("codes.html")}
    assert {item.name for item in COMMANDS} <= {
        anchor.removeprefix("rxe-") for anchor in headings("commands.html")
    }
    assert {_slug(word.name) for word in WORDS} <= headings("words.html")


def _slug(name: str) -> str:
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", name).strip().lower())


def test_every_page_of_the_folder_stands_in_the_navigation() -> None:
    told = (ROOT / "mkdocs.yml").read_text("utf-8")
    for path in (ROOT / "docs").rglob("*.md"):
        assert re.search(rf"[ :]{path.relative_to(ROOT / 'docs').as_posix()}$", told, re.MULTILINE), path


def test_search_finds_words_codes_and_operators(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text("utf-8")
    for text in ("StructInfo", "RX0203", "nn.conv2d", "match_cast", "FuseOps", "bisect"):
        assert text in index


# -- the README -------------------------------------------------------------------------------------------------------


def test_the_readme_is_short_and_its_links_lead_somewhere_from_anywhere(site: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(text.splitlines()) < 150
    assert len(links) > 10
    for link in links:
        assert link.startswith(("https://", "http://")), f"{link} leads nowhere from an index page"
        if link.startswith(PLACE):
            assert (site / link.removeprefix(PLACE)).is_file(), link
        if link.startswith((FILES, RAW)):
            assert (ROOT / link.removeprefix(FILES).removeprefix(RAW)).is_file(), link


def test_the_sentences_of_the_readme_about_commands_are_true() -> None:
    named = {item.name: {a.name for a in item.arguments} for item in COMMANDS}
    lines = re.findall(r"(?:^|`)rxe (\w+)([^#`\n]*)", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    used = [(name, rest) for name, rest in lines if name in named]
    assert len(used) >= 8
    for name, rest in used:
        if name != "record":
            assert set(re.findall(r"--[a-z-]+", rest)) <= named[name], (name, rest)


# -- in a browser -----------------------------------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
         "--disable-component-update", "--disable-quic", "--virtual-time-budget=3000", "--enable-logging=stderr")  # fmt: skip


class Quiet(SimpleHTTPRequestHandler):
    """A server that says nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


async def opened(address: str, profile: Path, width: int) -> tuple[str, str]:
    """The document after its scripts ran, and the console."""
    assert CHROMIUM is not None
    command = [
        CHROMIUM,
        *QUIET,
        f"--window-size={width},900",
        f"--user-data-dir={profile}",
        "--dump-dom",
        address,
    ]
    child = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    shown, told = await asyncio.wait_for(child.communicate(), 120)
    return shown.decode(), "\n".join(line for line in told.decode().splitlines() if "CONSOLE" in line)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize(
    ("page", "width", "text"),
    [
        ("index.html", 1300, "twelve short lessons"),
        ("learn/01-values.html", 390, "Values"),
        ("reference/operators/nn-conv.html", 1300, "Cross-correlation"),
        ("find/wrong-number.html?h=softmax", 1300, "FuseTIRInner"),
    ],
)
async def test_a_browser_shows_it_without_an_error(
    address: str, tmp_path: Path, page: str, width: int, text: str
) -> None:
    shown, console = await opened(f"{address}/{page}", tmp_path, width)
    assert console == ""
    assert text in shown
    assert 'data-md-color-scheme="default"' in shown
    assert 'data-md-component="search"' in shown
