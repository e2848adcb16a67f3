"""The directories for caches, state and samples. Only this module asks the system for them, and loads what does so when it has to."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.core.notations import HOLDS

NAME = "relax-explorer"
SAMPLES = "samples"  # the name of the folder, also for users


def kernel_cache() -> Path:
    """The directory of compiled kernels."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir(NAME)) / "kernels"


def config() -> Path:
    """The user's settings file."""
    from platformdirs import user_config_dir

    return Path(user_config_dir(NAME)) / "config.toml"


def state() -> Path:
    """The directory of data kept between sessions."""
    from platformdirs import user_state_dir

    return Path(user_state_dir(NAME))


def sample(path: str) -> str:
    """A path to read. `samples/…` that does not exist here is a sample of the program, or a file in one, also with `@STAGE` behind it."""
    name, at, stage = path.partition("@")
    if not name.startswith(f"{SAMPLES}/") or Path(path).exists() or Path(name).exists():
        return path
    inside = Path(name.removeprefix(f"{SAMPLES}/"))
    found = next((folder / inside for folder in _folders() if (folder / inside).exists()), None)
    is_one = found is not None and inside.parts and ".." not in inside.parts and not inside.is_absolute()
    return f"{found}{at}{stage}" if is_one else path


def sample_name(sample: Path) -> str:
    """The name of a sample for users, as `samples/relations/layer.relay`."""
    folder = next(item for item in sample.parents if item.name == SAMPLES)
    return f"{SAMPLES}/{sample.relative_to(folder).as_posix()}"


def samples() -> list[Path]:
    """The samples in reading order: programs, builds, programs in other notations or of experiments."""
    for folder in _folders():
        if folder.is_dir():
            builds = sorted(
                path for path in folder.iterdir() if path.is_dir() and any(path.glob("[0-9]*.py"))
            )
            others = [path for ending in HOLDS for path in sorted(folder.glob(f"*/*{ending}"))]
            return [*sorted(folder.glob("[0-9]*.py")), *builds, *others, *sorted(folder.glob("[a-z]*.py"))]
    return []


def _folders() -> tuple[Path, Path]:
    """Where samples may be: beside the package in a wheel, one folder up in a checkout."""
    package = Path(__file__).parents[1]
    return package / SAMPLES, package.parent / SAMPLES
