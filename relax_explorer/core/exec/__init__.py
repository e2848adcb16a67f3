"""Runs programs: values, plan, machine, debugger. PrimFuncs are compiled with numba (kernels, tir_numba)."""
