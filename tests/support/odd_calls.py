"""Odd programs, files and command lines, each with its expected exit status."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import numpy as np

_HEAD = "# from tvm.script import ir as I\n"


def _main(body: str, head: str = 'x: R.Tensor((2,), "float32")') -> str:
    return f"@R.function\ndef main({head}):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def _in_class(*parts: str) -> str:
    lines = "\n".join(parts).split("\n")
    return "@I.ir_module\nclass M:\n" + "".join(f"    {line}\n" if line else "\n" for line in lines)


_KERNEL = """@T.prim_func
def k(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
    for i in range(2):
        with T.sblock("b"):
            B[i] = A[i] + T.float32(1)"""
_CALLS_K = _main('y = R.call_tir(M.k, (x,), out_sinfo=R.Tensor((2,), "float32"))\nreturn y')
_WIDE = ", ".join(["x"] * 200)

PROGRAMS: dict[str, str] = {
    "plain": _main("y = R.add(x, x)\nz = R.exp(y)\nreturn z"),
    "sized": _main(
        "y = R.add(x, x)\nreturn y", 'x: R.Tensor(("n", "m"), "float32"), w: R.Tensor(("m",), "float32")'
    ),
    "scalar": _main("y = R.zeros(R.shape([n]), \"float32\")\nreturn y", "n: T.int64, x: R.Tensor((n,), \"float32\")"),
    "unbound": _main("return x", 'x: R.Tensor(("n * 2",), "float32")'),
    "kernel": _in_class(_KERNEL, _CALLS_K),
    "kernel_only": _in_class(_KERNEL),
    "member": _in_class('q = R.ExternFunc("f")', _main("y = q(x)\nreturn y")),
    "member_class": _in_class('q = R.ExternFunc("f")', _main("y = M.q(x)\nreturn y")),
    "no_tensor": _main('y = R.add(x, metadata["relax.expr.StringImm"][0])\nreturn y')
    + 'metadata = {"root": 1, "nodes": [{"type": ""}]}\n',
    "no_tensor_old": _main('y = R.add(x, metadata["relax.expr.Constant"][0])\nreturn y'),
    "ones": _main('y = R.ones(T.float64(1.0), "float32")\nreturn y'),
    "ones_in": _main('y = R.ones((T.float64(1.0),), "float32")\nreturn y'),
    "concat": _main(f"y = R.concat(({_WIDE}), axis=0)\nreturn y"),
    "stack": _main(f"y = R.stack(({_WIDE}), axis=0)\nreturn y"),
    "triu": _main("y = R.triu(x, k)\nreturn y", 'x: R.Tensor((2, 2), "float32"), k: R.Tensor((), "int64")'),
    "tril": _main("y = R.tril(x, k)\nreturn y", 'x: R.Tensor((2, 2), "float32"), k: R.Tensor((2,), "int64")'),
    "triu_prim": _main("y = R.triu(x, k)\nreturn y", 'x: R.Tensor((2, 2), "float32"), k: R.Prim("float32")'),
    "index": _in_class(_KERNEL.replace("A[i]", "A[T.uint8(255) + 1]"), _CALLS_K),
    "index_cast": _in_class(_KERNEL.replace("A[i]", 'A[T.Cast("int8", T.int64(128))]'), _CALLS_K),
    **{f"dtype_{name}": _main("return x", f'x: R.Tensor((2,), "{name}")')
       for name in ("handle", "float32x4", "int4", "uint1", "float8_e4m3fn", "bfloat16", "bool", "void", "complex64", "int4x8")},
    **{f"made_{name}": _main(f'y = R.zeros((2,), "{name}")\nreturn y') for name in ("handle", "float32x4", "void", "int4")},
    "rank": _main("return x", f'x: R.Tensor(({"1, " * 100}), "float32")'),
    "rank_made": _main(f'y = R.zeros(({"1, " * 100}), "float32")\nreturn y'),
    "long": _main("return x", 'x: R.Tensor((100000000000,), "float32")'),
    "long_made": _main('y = R.zeros((100000000000,), "float32")\nreturn y'),
    "longer": _main("return x", 'x: R.Tensor((4294967296, 4294967296), "float32")'),
    "hex": _main("return x", f'x: R.Tensor((0x{"f" * 3572},), "float32")'),
    "any_rank": _main("return x", 'x: R.Tensor(dtype="float32", ndim=70)'),
    "any": _main("return x", "x: R.Object"),
    "tuple": _main("return x", 'x: R.Tuple(R.Tensor((2,), "float32"), R.Tuple(R.Shape([3]), R.Prim("int64")))'),
    "shape": _main("return x", "x: R.Shape(ndim=70)"),
    "callable": _main("return x", 'x: R.Callable((R.Tensor((2,), "float32"),), R.Object)'),
    "nothing": "",
    "comment": _HEAD,
    "empty_module": "@I.ir_module\nclass M:\n    pass\n",
    "broken": "@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n    y = R.add(x,\n",
    "problems": _main("y = R.add(x, nobody)\nz = R.frobnicate(y)\nreturn w"),
    "names": _main('R.print(x, format="a {}")\nR.print(x, format="b {}")\nreturn x').replace("@R.function", "@R.function(pure=False)"),
    "surrogate": _main('y = R.op("\\ud800", x)\nreturn y'),
    "zero": _main("y = R.divide(x, R.const(0, \"int32\"))\nreturn y", 'x: R.Tensor((0,), "int32")'),
    "latin": _main("größe = R.add(x, x)\n名 = R.exp(größe)\nreturn 名"),
    "endless": _in_class(_main("y = M.main(x)\nreturn y") .replace("):", ') -> R.Tensor((2,), "float32"):', 1)),
}  # fmt: skip
"""Programs by name; some contain forbidden things, which must lead to a diagnostic and nothing else."""


def write_files(folder: Path) -> dict[str, str]:
    """Write every program, and files that are no programs, into a folder; return their paths by name."""
    for name, text in PROGRAMS.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    (folder / "binary.py").write_bytes(bytes(range(256)) * 4)
    (folder / "latin1.py").write_bytes(PROGRAMS["latin"].encode("utf-8").replace(b"\xc3\xb6", b"\xf6"))
    np.save(folder / "x.npy", np.ones(2, np.float32))
    np.save(folder / "object.npy", np.array([{}], object), allow_pickle=True)
    np.save(folder / "records.npy", np.zeros(2, [("a", "f4")]))
    np.save(folder / "dates.npy", np.zeros(2, "M8[s]"))
    np.save(folder / "text.npy", np.array(["a", "b"]))
    np.savez(folder / "bc.npz", b=np.ones(2, np.float32), c=np.ones(2, np.float32))
    np.savez(folder / "one.npz", x=np.ones(2, np.float32))
    np.savez(folder / "empty.npz")
    np.savez(folder / "odd.npz", out0=np.zeros(2, [("a", "f4")]))
    _bomb(folder / "bomb.npz", 1 << 36)
    _bomb(folder / "liar.npz", 16)
    (folder / "text.npz").write_text("no archive")
    (folder / "cut.npy").write_bytes((folder / "x.npy").read_bytes()[:-3])
    whole = (folder / "one.npz").read_bytes()
    (folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (folder / "commands.txt").write_text(
        "# steps\n\nbreak z if max > 0\nc\nwhere\nlist\nS\nquit\nnever reached\n"
    )
    (folder / "keys.txt").write_text("size 80 24\nkey 3 f\n")
    (folder / "far.txt").write_text("click 500 500\n")
    (folder / "wrong.txt").write_text("step\nbreak nowhere\n")
    (folder / "model.onnx").write_bytes(b"no model")
    (folder / "bad.toml").write_text("profile = ")
    (folder / "nobody.toml").write_text('profile = "nobody"\n[run]\nshape = 3\nrtol = "x"\n')
    (folder / "shape.toml").write_text('[run]\nshape = ["n=2"]\n')
    paths = {path.name.removesuffix(".py").replace(".", "_"): str(path) for path in folder.iterdir()}
    return {**paths, "digits": "9" * 5000, "folder": str(folder), "missing": str(folder / "missing.py")}


def _bomb(path: Path, elements: int) -> None:
    """An archive whose header promises `elements` float32, with only a few compressed MB of zeros in it."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": (elements,)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", head.getvalue() + bytes(4 << 20))


# The exit status, then the words; {name} is the path of a program or file, ∅ an empty word.
CALLS = tuple(
    (int(line.partition(" ")[0]), line.partition(" ")[2])
    for line in r"""
2 play {missing} {plain}
2 play {plain} {plain}
2 play {binary} {plain}
2 play {keys_txt} {plain} --size 0x5
2 play {keys_txt} {plain} --size wide
0 play {keys_txt} {plain}
0 play {keys_txt} {missing} --size 61x17
3 play {far_txt} {plain}
2 serve {missing}
2 serve -
2 serve {plain} --port 70000
2 serve {plain} --port -1
2 serve {plain} --port x
2 serve --web
2 serve {missing} --web
2 lsp {plain}
2 lsp --profile mlir
2 lsp --port 3
2 completion
2 completion powershell
0 completion bash
0 completion fish
2 run {member}
2 run {member_class}
0 check {member}
0 opt {member}
0 report {member}
0 report {kernel_only}
2 report {missing}
0 report {sized} --shape n=0
2 report {sized} --shape q=1
0 report {plain} --no-run
0 report {plain} --no-run --profile tvm
2 report {plain} --profile none
2 report {plain} --func nobody
0 report {names} --passes LegalizeOps
0 graph {member}
0 show {member}
2 run {no_tensor}
1 check {no_tensor}
0 check {no_tensor_old}
0 opt {no_tensor_old} -p LegalizeOps
1 check {ones}
2 run {ones}
2 opt {ones}
1 check {ones_in}
2 run {ones_in}
0 opt {concat} -p LegalizeOps
0 debug {plain} --script {commands_txt}
0 debug {plain} --script {commands_txt} --format json
0 debug {plain} -p LegalizeOps --script {commands_txt}
2 debug {plain}
0 debug {plain} --budget 0 --script {commands_txt}
2 debug {plain} --budget -1 --script {commands_txt}
2 debug {plain} --budget x --script {commands_txt}
2 debug {plain} --budget 99999999999 --script {commands_txt}
2 debug {plain} --script -
2 debug {plain} --script {wrong_txt}
2 debug {plain} --script {wrong_txt} --format json
2 debug {plain} --script {missing}
2 debug {plain} --script {folder}
2 debug {plain} --script {binary}
2 debug {plain} --func nothing --script {commands_txt}
2 debug {kernel} --func k --script {commands_txt}
2 debug {plain} --input y=1 --script {commands_txt}
2 debug {plain} --shape q=1 --script {commands_txt}
2 debug {broken} --script {commands_txt}
2 debug -
2 debug - --script -
2 debug
0 run {concat}
0 graph {concat} --format dot
0 opt {stack} -p LegalizeOps
1 opt {triu} -p LegalizeOps
2 run {triu}
2 run {triu} -p default
1 opt {tril} -p LegalizeOps
2 run {tril}
1 opt {triu_prim} -p LegalizeOps
2 run {triu_prim}
0 check {index}
0 run {index}
0 check {index_cast}
1 run {index_cast}
2 run {dtype_handle}
1 check {dtype_handle}
2 run {dtype_float32x4}
1 check {dtype_float32x4}
2 run {dtype_float32x4} --input x=zeros
0 run {dtype_int4}
0 run {dtype_uint1}
2 run {dtype_float8_e4m3fn} --input x=1e9
0 run {dtype_bfloat16} --input x=arange
0 run {dtype_bool} --input x=nan
0 run {dtype_void}
2 run {dtype_complex64}
2 run {dtype_int4x8}
2 run {made_handle}
0 opt {made_handle}
3 run {made_float32x4}
0 opt {made_float32x4} -p LegalizeOps
0 opt {made_float32x4} -p FoldConstant
2 run {made_void}
0 run {made_int4} -p default
2 run {rank}
3 run {rank_made}
0 opt {rank_made}
3 run {rank_made} -p LegalizeOps
3 run {long}
3 run {long} --input x=zeros
3 run {long_made}
3 run {long_made} -p default
0 opt {long_made} -p FoldConstant
3 run {longer}
3 run {longer} --input x=ones
1 check {hex}
2 run {hex}
2 show {hex}
2 run {any_rank}
2 run {any}
2 run {any} --input x=3
2 run {any} --input x=zeros
0 run {tuple}
0 run {tuple} --input x=zeros
0 run {shape}
2 run {callable}
1 check {nothing}
2 show {nothing}
2 run {nothing}
1 check {comment}
0 check {empty_module}
2 run {empty_module}
0 opt {empty_module}
2 graph {empty_module}
2 who {empty_module} x
2 find {empty_module} matmul(
0 phases --format mermaid
2 cost
2 cost nothing.py
2 cost {empty_module}
2 cost {kernel_only}
2 cost {broken}
0 cost {plain}
0 cost {kernel} --by binding
0 cost {sized} --shape n=2 --shape m=3,4 --by layer
0 cost {sized} --format json --by function
0 cost {any}
0 cost {any_rank} --by binding
0 cost {latin} --by binding --ascii
0 cost {zero}
0 cost {scalar}
0 cost {concat}
0 cost {endless}
0 cost {long_made}
0 cost {longer}
0 cost {tuple}
0 cost {sized} --shape n=0 --shape m=0
0 cost {sized} --shape n=999999999999999999
2 cost {sized} --shape n
2 cost {sized} --shape n=-1
2 cost {sized} --shape n=1,,2
2 cost {sized} --shape q=1
2 cost {sized} --shape n=1,2,3 --shape m=1,2,3
2 cost {plain} --func nobody
2 cost {kernel} --func k
2 cost {plain} --by nothing
2 cost {plain} --stage 7
0 cost {plain} -p zero --stage LegalizeOps
2 shapes
2 shapes nothing.py
2 shapes nothing.shapes
2 shapes {plain} --desugared
2 shapes {plain} --relax
2 shapes {plain} --matches
2 shapes {plain} --split
2 shapes {plain} --copy ff:n=8
2 shapes nothing.shapes --copy ff
0 shapes {plain}
0 shapes {sized} --proved --format json
0 shapes {sized} --given n==m
2 shapes {sized} --given n=
1 shapes {sized} --given q==1
0 shapes {sized} --given main.n==1
1 shapes {sized} --given nothing.n==1
1 shapes {sized} --given main.q==1
2 shapes {sized} --given main.==1
1 shapes {sized} --what-if nothing.n=1
2 shapes {sized} --func nothing
1 shapes {sized} --why nothing
1 shapes {sized} --why main.
1 shapes {sized} --why main.x.7
2 shapes {sized} --why main.x --proved
2 shapes {sized} --what-if n=
1 shapes {sized} --what-if q=1
0 shapes {sized} --what-if n=7 --format json
2 shapes {sized} --what-if n=7 --why main.x
2 shapes {sized} --shape n=3
0 shapes {sized} --run --shape n=3 --format json
2 shapes {broken}
2 shapes {plain} --run --input x=nothing.npy
0 shapes {kernel} -p LegalizeOps --proved
2 relations
2 relations nothing.relay
2 relations {plain}
2 relations .
2 relations - --format svg
2 relations - --trace
2 relations {plain} --at 1
2 relations samples/relations/layer.relay --at 99
2 relations samples/relations/layer.relay --at -1
0 relations samples/relations/layer.relay --at 0
0 relations samples/relations/layer.relay --at 6
2 relations samples/relations/layer.relay --at x
0 shapes samples/shapes/fast_flatten.shapes --trace
0 shapes samples/shapes/fast_flatten.shapes --at 15
2 shapes samples/shapes/fast_flatten.shapes --at 24
2 shapes {plain} --at 1
2 shapes {plain} --trace
2 passes --explain nothing
1 passes --explain FuseOps,FuseOps
0 passes --missing --format json
0 find {plain} _
0 diff {empty_module} {empty_module}
1 check {broken}
2 show {broken}
2 opt {broken}
2 diff {broken} {plain}
1 check {problems}
2 run {problems}
2 graph {problems}
2 opt {problems}
0 graph {names} --format unicode
0 diff {names} -p default
0 who {names} _
0 check {surrogate} --allow-unknown-ops --output-format json
0 check {surrogate} --allow-unknown-ops --output-format sarif
0 show {surrogate} --format json
0 show {surrogate}
0 run {zero}
0 run {zero} -p default
0 show {latin}
0 graph {latin} --format ascii
1 run {endless}
2 check {binary}
2 show {latin1}
2 check {folder}
2 check {missing}
2 run {folder}
2 passes --changing {missing}
0 passes --changing {plain} --format json
2 passes --changing {problems}
0 passes --changing {rank_made}
2 run {sized} --shape n=²
2 run {sized} --shape n={digits}
2 run {sized} --shape n=-1
2 run {sized} --shape n=
2 run {sized} --shape =3
2 run {sized} --shape n
2 run {sized} --shape n=1e3
2 run {sized} --shape n=٣
3 run {sized} --shape n=99999999999999
2 run {sized} --shape n=9223372036854775807
2 run {sized} --shape n=9223372036854775808
0 run {sized} --shape n=0 --shape m=0
2 run {sized} --shape n=2 --shape n=3
2 run {plain} --input x=randn:abc
2 run {plain} --input x=randn:-1
2 run {plain} --input x=randn:²
2 run {plain} --input x=randn:{digits}
0 run {plain} --input x=randn:
2 run {plain} --input x=zeros:3
2 run {plain} --input x={digits}
2 run {plain} --input x=1e999
2 run {plain} --input x=
2 run {plain} --input =zeros
2 run {plain} --input ∅
0 run {plain} --input 0=zeros
2 run {plain} --input 99=zeros
2 run {plain} --input ²=zeros
0 run {plain} --input zeros
2 run {plain} --input zeros --input ones
2 run {plain} --input x=zeros --input x=ones
2 run {plain} --input x=zeros --input 0=ones
2 run {plain} --input x={missing}.npy
0 run {plain} --input x={x_npy}
2 run {plain} --input x={object_npy}
2 run {plain} --input x={records_npy}
2 run {plain} --input x={dates_npy}
2 run {plain} --input x={text_npy}
2 run {plain} --input x={cut_npy}
0 run {plain} --input x={one_npz}
0 run {plain} --input {one_npz}
0 run {plain} --input {x_npy}
2 run {plain} --input {cut_npz}
2 run {plain} --input {text_npz}
2 run {plain} --input {empty_npz}
2 run {plain} --input {bomb_npz}
2 run {plain} --input x={bomb_npz}
2 run {plain} --input {liar_npz}
1 run {plain} --expect {bomb_npz}
2 run {plain} --expect {odd_npz}
1 run {plain} --expect {one_npz}
1 run {plain} --expect {x_npy}
2 run {plain} --expect {missing}
1 run {plain} --rtol nan --expect {one_npz}
2 run {sized} --input {bc_npz}
2 run {scalar} --input n=foo
0 run {scalar} --input n=7
0 run {scalar} --input n=7 --shape n=7
2 run {scalar} --input n=7 --shape n=8
2 run {scalar} --input n=-1
2 run {scalar} --input n=2.5
0 run {scalar} --input n=zeros
2 run {scalar} --input n=1e999
2 run {scalar} --input x={x_npy} --input n=3
0 run {scalar} --input x={x_npy}
2 run {unbound}
2 run {unbound} --shape n=2
2 run {plain} --break y=
2 run {plain} --break op:²
0 run {plain} --func ∅
2 run {plain} --func nobody
0 run {plain} --passes LegalizeOps{skip="relax.add"}
2 run {plain} -p LegalizeOps{
0 run {plain} -p LegalizeOps{}
2 run {plain} -p LegalizeOps}
2 run {plain} -p {
0 run {plain} -p ,,,
0 run {plain} -p ∅
2 run {plain} -p DeadCodeElimination{profile=3}
0 run {plain} -p DeadCodeElimination{profile=tvm}
2 run {plain} -p DeadCodeElimination{profile=strict}
0 run {plain} -p default{profile=tvm}
2 run {plain} -p default{errors=drop}
2 run {plain} -p default{profile=strict}
2 run {plain} -p DeadCodeElimination{profile="tvm}
2 run {plain} -p Nobody{a=1}
2 run {kernel_only}
2 run {kernel_only} --func k
2 graph {kernel_only}
2 graph {kernel} --func k
0 show {kernel} --func k
2 show {plain} --stage ²
2 show {plain} --stage {digits}
0 show {plain} --stage -1
2 show {plain} --stage -99
2 show {plain} --stage ∅
2 show {plain} --stage --
0 show {plain} -p default --stage LegalizeOps
2 show {plain} -p default --stage 1²
2 graph {plain} --stage ²
0 graph {plain} --around y --radius -1
0 graph {plain} --block 0
2 graph {plain} --block 1
2 graph {plain} --block -1
2 graph {plain} --block x
2 graph {plain} --block 0 --calls
2 graph {plain} --block 0 --between 0..0
0 graph {plain} --around y --radius 99999999999999999999
0 graph {plain} --max-nodes 0
0 graph {plain} --max-nodes -5
0 graph {plain} --engine builtin --format svg
3 graph {plain} --format png --engine builtin
2 graph {plain} --func nobody
2 graph {plain} --between 0..9
0 graph {plain} --between ..
2 graph {plain} --between 0..0 --stage 0
2 graph {plain} --between 0..0 --heat time
2 graph {plain} --shape n=2
2 graph {plain} --heat time --shape n
2 graph {plain} --heat bytes --input nobody=ones
0 graph {plain} --heat bytes --expand
0 graph {plain} --memory
0 graph {plain} --memory --between 0..0
2 graph {plain} --memory --calls
0 graph {plain} --storages
2 graph {plain} --storages --calls
2 graph {plain} --storages --heat flops
2 graph {plain} --storages --between 0..0
2 graph {plain} -o {folder}/out.xyz
2 diff {plain} --between ²..1
0 diff {plain} --between 0..
0 diff {plain} --between ..
0 diff {plain} --between 5
2 diff {plain} --between 0..99
0 diff {plain} {sized} --between 0..1
2 diff {plain} {missing}
0 diff {plain} -p default --style json
2 who {plain} ∅
2 who {plain} nobody
2 who {plain} y --func nobody
2 explain ∅
2 explain RX²
2 explain {digits}
0 explain add
0 explain StructInfo
2 explain nothing at all
0 schema
0 schema rxe.show/1
2 schema rxe.show/2
2 schema ∅
2 schema ../schemas/show
0 schema bisect --format json
0 check {plain} --select ∅
2 check {plain} --select RX²
2 check - --watch
2 check {missing} --watch
2 show {missing} --watch
2 show - --watch
0 show {plain} --color always
0 --color never check {plain}
2 check {plain} --color blue
2 check {plain} --ignore XX
2 check {plain} {missing} {broken}
0 check -
2 show - -
1 check - -
2 opt {plain} -o ∅
2 run {plain} -o {folder}
2 run {plain} --trace {folder}/none/t
2 --config {bad_toml} check {plain}
2 --config {nobody_toml} run {plain}
2 --config {nobody_toml} check {plain}
0 --config {shape_toml} run {sized}
2 --config {missing} check {plain}
2 --config {folder} check {plain}
2 tui {plain}
2 tui {plain} --watch
2 play --watch
2 {missing}
2 ∅
0 ops --format json
2 frobnicate
2 --nobody
3 run {sized} --shape n=2 --max-input 0
2 run {sized} --max-input nan
2 run {sized} --max-input -1
2 run {sized} --max-input x
2 run {scalar} --input n=arange
2 run {shape} --input x=2,3
2 run {shape} --input x=2,x
2 run {tuple} --input x=foo
0 run {dtype_bool} --input x=2
2 run {zero} --input x=0.5
2 run {zero} --input x={digits}
0 run {plain} -p LegalizeOps{skip=relax.add,relax.exp}
0 run {plain} -p LegalizeOps{skip=('add',"exp")}
0 run {plain} -p LegalizeOps{skip=["add",'exp']}
2 run {plain} -p LegalizeOps{skip=[1]}
2 run {plain} -p LegalizeOps{skip=3}
2 run {plain} -p LegalizeOps{skip=add,skip=exp}
2 run {plain} -p LegalizeOps{nobody=add}
2 run {plain} -p LegalizeOps{=}
2 run {plain} -p LegalizeOps{skip=}
2 opt {ones_in} -p default
1 check {ones} --profile tvm --prover alpha
2 show {ones} --dialect tvm-0.19
0 passes --changing -
2 run {plain} -p LegalizeOps{skip=nobody}
2 show {plain} -p LegalizeOps{skip=nobody}
0 compare {plain} {plain}
1 compare {plain} {sized}
2 compare {plain}
2 compare {plain} {missing}
2 compare {plain} {binary}
2 compare {plain} {folder}
2 compare {folder}
2 compare {plain} -p Nobody
2 compare {plain} {plain} --samples 0
2 compare {plain} {plain} --samples {digits}
2 compare {plain} {plain} --rtol nan
2 compare {plain} {plain} --atol -1
2 compare {plain} {plain} --workers 0
2 compare {plain} {plain} --workers 2 --scheduler local
2 compare {plain} {plain} --func nobody
2 compare {kernel_only} {kernel_only}
2 compare {any} {any}
2 compare {broken} {plain}
2 compare {problems} {plain}
0 compare {plain}@0 {plain}@input
2 compare {plain}@1 {plain}
2 compare {plain}@-7 {plain}
2 compare {plain}@ {plain}
2 compare {plain}@{digits} {plain}
2 compare @ {plain}
2 compare {plain} --ref {one_npz}
2 compare {plain} --ref {missing}
2 compare {plain} --ref {cut_npz}
1 compare {plain} --ref {odd_npz}
2 compare {plain} --ref {one_npz} --workers 2
2 compare {plain} {plain} --input {one_npz} --samples 2
2 compare {plain} {plain} --input {bomb_npz}
2 compare {sized} {sized} --shape k=2
3 compare {sized} {sized} --max-input 0
3 compare {endless} {endless}
3 compare {surrogate} {surrogate}
3 compare {long} {long}
1 compare {tuple} {shape}
1 compare {dtype_float8_e4m3fn} {dtype_bfloat16}
0 compare {latin} {latin} --all
0 compare {zero} {zero} --all --format json
2 compare - -
2 compare ∅ {plain}
2 bisect {plain}
0 bisect {plain} -p LegalizeOps --test well-formed
0 bisect {plain} -p LegalizeOps --test no-nan
2 bisect {plain} -p default --test nobody
2 bisect {plain} -p LegalizeOps --ref {one_npz}
1 bisect {plain} -p LegalizeOps --ref {odd_npz}
2 bisect {folder}
2 bisect {broken} -p default
2 bisect {any} -p default
1 bisect {endless} -p default
2 bisect {plain} -p default -- {missing}
2 bisect {plain} -p default -- {folder}
2 bisect {plain} -p default -- ∅
1 bisect {plain} -p default -- false
0 bisect {plain} -p default -- true
2 bisect {plain} -p LegalizeOps{nobody=1}
2 bisect {kernel_only} -p default
2 import
2 import {plain}
2 import {folder}
2 import nothing.onnx
2 import {model_onnx} -o -
2 import {model_onnx} --max-seconds 0
2 import {model_onnx} --max-memory nan
2 import {model_onnx} --shape batch
3 import {model_onnx} --python {folder}
2 import {model_onnx} -o {folder}
2 show {model_onnx}
2 compare {model_onnx} {plain} --calls {commands_txt}
2 compare {model_onnx} {plain} --workers 2
2 record
2 record --no-host --values
2 record -- no_such_program
2 record -- {plain}
2 record -o {folder} -- no_such_program
2 record -o - -- no_such_program
2 record --max-stages many -- no_such_program
2 validate {plain}
0 validate {plain} -p default
0 validate {sized} -p default --samples 1 --format json
2 validate {plain} -p nobody
2 validate {folder}
2 validate {kernel_only} -p default
2 validate {plain} -p default --samples -1
0 export {plain}
0 export {plain} -p LegalizeOps --to issue
2 export {plain} --to nobody
2 export {plain} -p nobody
2 export {plain} --func nobody
2 export {broken}
2 export {missing}
2 export {kernel_only}
0 export {sized} --format json
0 export {names} --anonymous
2 tui {plain} --ranks 0
0 opt {plain} -p LegalizeOps --target nonsense
2 run {plain} --ranks 2 --calls {missing}
1 run {plain} --ranks 2 --calls {commands_txt}
2 play {keys_txt} {plain} --ranks 65
0 export {latin} --to issue --anonymous
2 export {broken} --anonymous
0 doctor
0 doctor --format json
1 doctor --python {missing}
2 doctor nobody
3 opt {plain} -p tvm:zero --python {missing}
3 opt {plain} -p nobody:run --python {missing}
2 opt {plain} -p a:b:c
2 opt {plain} -p tvm:
2 opt {plain} -p tvm:zero --pass-seconds -1
2 opt {plain} -p tvm:zero --pass-seconds nan
3 passes tvm: --python {missing}
3 passes tvm:FuseOps --python {missing}
0 compare {plain} -p zero --with LegalizeOps
2 compare {plain} --with nobody
2 compare {plain} {plain} --with zero
2 compare {plain} --with zero --ref {missing}
2 save
2 save {folder}
0 save {plain} -o {folder}/kept.rxs
2 save {plain} -p nobody -o {folder}/kept.rxs
2 reduce {plain}
3 reduce {plain} -p LegalizeOps
3 reduce {plain} --test well-formed
3 reduce {plain} --test no-nan --samples 1
2 reduce {plain} -p nobody
2 reduce {plain} -p default --test nobody
2 reduce {plain} -p default --func nobody
2 reduce {broken} -p default
2 reduce {missing} -p default
2 reduce {kernel_only} -p default
2 reduce {plain} -p default -- {missing}
3 reduce {plain} -p LegalizeOps --anonymous
3 reduce {latin} --test no-nan --anonymous
0 reduce {plain} -p LegalizeOps -o - -- false
3 reduce {plain} -p LegalizeOps -- true
3 reduce {sized} --test no-nan --seconds 0 --format json
2 run {plain} -p DeadCodeElimination{errors=typo}
2 opt {plain} -p DeadCodeElimination{errors=typo}
""".strip().splitlines()
)


def words(call: str, files: dict[str, str]) -> list[str]:
    """The words of a command line, with the paths of its files."""
    parts = [re.sub(r"\{(\w+)\}", lambda hit: files.get(hit[1], hit[0]), word) for word in call.split(" ")]
    return ["" if part == "∅" else part for part in parts]
