"""Runs programs: values, plan, machine, debugger. PrimFuncs become loops as data (loop_ir), which LLVM or numba compiles (kernels)."""
