"""Running programs: values, plan, machine, debugger; PrimFuncs by numba (kernels, tir_numba)."""
