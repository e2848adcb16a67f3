"""The Python that Home offers for recording a build works with TVM, and the explorer opens what it writes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.ui.tui.screens.home_screen import RECIPE
from tests.support.oracle import Oracle
from tests.support.roundtrip import SAMPLES

PARSE = """import re, sys
import tvm
text = open(sys.argv[1]).read()
mod = tvm.script.from_source(re.sub("(?m)^(from|import) ", "# ", text))
"""


def test_the_recipe_records_every_pass(tmp_path: Path, oracle: Oracle) -> None:
    (tmp_path / "build.py").write_text(PARSE + RECIPE)
    subprocess.run(
        [sys.executable, "build.py", str(SAMPLES[0].resolve())], cwd=tmp_path, check=True, timeout=120
    )
    dumps = tmp_path / "dumps"
    build = open_build(dumps)
    stages = build.stages
    assert stages[0].made_by == "input"
    assert [stage.number for stage in build.every] == list(range(len(build.every)))
    session = RecordedSession(replace(build, stages=stages[:12]))
    session.run_all()
    assert {"LegalizeOps", "CallTIRRewrite"} <= {stage.made_by for stage in session.changing()}
    assert not any(stage.text for stage in session.stages)
    assert "matmul" in session.stages[0].module.script()
