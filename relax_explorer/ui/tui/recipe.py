"""How to record a build: Python that users paste around their call of TVM. Home shows it; tests/oracle runs it."""

RECIPE = """import pathlib
import tvm

@tvm.instrument.pass_instrument
class Dump:
    number = 0

    def run_before_pass(self, mod, info):
        if not self.number:
            self.write(mod, "input")

    def run_after_pass(self, mod, info):
        self.write(mod, info.name.split(".")[-1])

    def write(self, mod, name):
        pathlib.Path("dumps").mkdir(exist_ok=True)
        path = pathlib.Path(f"dumps/{self.number:03}_{name}.py")
        path.write_text(mod.script(show_meta=True))
        self.number += 1

with tvm.transform.PassContext(instruments=[Dump()]):
    tvm.compile(mod, "llvm")
"""
