"""The directories for caches, state and samples. Only this module asks the system for them."""

from __future__ import annotations

from pathlib import Path

import platformdirs

import relax_explorer

NAME = "relax-explorer"
SAMPLES = "samples"  # the name of the folder, also for users


def kernel_cache() -> Path:
    """The directory of compiled kernels."""
    return Path(platformdirs.user_cache_dir(NAME)) / "kernels"


def config() -> Path:
    """The user's settings file."""
    return Path(platformdirs.user_config_dir(NAME)) / "config.toml"


def state() -> Path:
    """The directory of data kept between sessions."""
    return Path(platformdirs.user_state_dir(NAME))


def sample(path: str) -> str:
    """A path to read. `samples/…` that does not exist here is a sample of the program, also with `@STAGE` behind it."""
    name, at, stage = path.partition("@")
    folder, slash, rest = name.partition("/")
    if folder != SAMPLES or not slash or Path(path).exists() or Path(name).exists():
        return path
    found = next((item for item in samples() if item.name == rest.rstrip("/")), None)
    return path if found is None else f"{found}{at}{stage}"


def samples() -> list[Path]:
    """The sample programs in reading order, then builds. A wheel has them beside the package, a checkout one folder up."""
    package = Path(relax_explorer.__file__).parent
    for folder in (package / SAMPLES, package.parent / SAMPLES):
        if folder.is_dir():
            builds = sorted(path for path in folder.iterdir() if path.is_dir() and any(path.glob("*.py")))
            return [*sorted(folder.glob("[0-9]*.py")), *builds]
    return []
