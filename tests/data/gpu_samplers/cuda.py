# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

b = TypeVar("b")
elem_offset = TypeVar("elem_offset")
batch = TypeVar("batch")
vocab_size = TypeVar("vocab_size")
out_batch = TypeVar("out_batch")
m = TypeVar("m")
n = TypeVar("n")
batch_size = TypeVar("batch_size")
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def argsort1(probs: T.Buffer((b, T.int64(300)), "float32", elem_offset=elem_offset), out_buf: T.Buffer((b, T.int64(300)), "int32", align=8)):
        T.func_attr({"op_pattern": 8, "tirx.is_scheduled": True, "tirx.noalias": True})
        with T.sblock("root"):
            value_buf = T.sblock_alloc_buffer((b, T.int64(300)), align=8)
            value_swap_buf = T.sblock_alloc_buffer((b, T.int64(300)), align=8)
            out_swap_buf = T.sblock_alloc_buffer((b, T.int64(300)), "int32", align=8)
            with T.sblock("argsort_gpu"):
                T.reads()
                T.writes()
                if T.bool(True):
                    with T.launch_thread("threadIdx.x", T.int64(1024)) as threadIdx_x:
                        with T.launch_thread("blockIdx.y", T.int64(1)) as blockIdx_y:
                            with T.launch_thread("blockIdx.x", b) as blockIdx_x:
                                if blockIdx_y * T.int64(1024) + threadIdx_x < T.int64(300):
                                    value_buf[(blockIdx_x % b * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x) + blockIdx_x // b) // T.int64(300), (blockIdx_x % b * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x) + blockIdx_x // b) % T.int64(300)] = probs[(blockIdx_x % b * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x) + blockIdx_x // b) // T.int64(300), (blockIdx_x % b * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x) + blockIdx_x // b) % T.int64(300)]
                                    out_buf[(blockIdx_x % b * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x) + blockIdx_x // b) // T.int64(300), (blockIdx_x % b * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x) + blockIdx_x // b) % T.int64(300)] = T.Cast("int32", blockIdx_y * T.int64(1024) + threadIdx_x)
                    with T.attr(0, "hand_threaded", 0):
                        with T.launch_thread("threadIdx.x", T.int64(64)) as threadIdx_x_1:
                            with T.launch_thread("blockIdx.y", T.int64(3)) as blockIdx_y:
                                with T.launch_thread("blockIdx.x", b) as blockIdx_x:
                                    buffer = T.alloc_shared((T.int64(128),))
                                    buffer_1 = T.alloc_local((T.int64(1),))
                                    buffer_2 = T.alloc_local((T.int64(1),))
                                    buffer_3 = T.alloc_local((T.int64(1),))
                                    buffer_4 = T.alloc_shared((T.int64(128),), "int32")
                                    buffer_5 = T.alloc_local((T.int64(1),), "int32")
                                    for v in range(T.int64(2)):
                                        if T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128) < T.int64(300):
                                            buffer[T.int64(2) * threadIdx_x_1 + v] = value_buf[(blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) // T.int64(300), (blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) % T.int64(300)]
                                            buffer_4[T.int64(2) * threadIdx_x_1 + v] = out_buf[(blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) // T.int64(300), (blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) % T.int64(300)]
                                    T.tvm_storage_sync("shared")
                                    for v in range(T.min(T.int64(128), T.int64(300) - blockIdx_y * T.int64(128))):
                                        if T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2) < T.min(T.int64(128), T.int64(300) - blockIdx_y * T.int64(128)) - T.int64(1):
                                            buffer_2[T.int64(0)] = buffer[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2)]
                                            buffer_3[T.int64(0)] = buffer[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2) + T.int64(1)]
                                            if buffer_2[T.int64(0)] < buffer_3[T.int64(0)]:
                                                buffer_1[T.int64(0)] = buffer[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2)]
                                                buffer[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2)] = buffer[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2) + T.int64(1)]
                                                buffer[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2) + T.int64(1)] = buffer_1[T.int64(0)]
                                                buffer_5[T.int64(0)] = buffer_4[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2)]
                                                buffer_4[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2)] = buffer_4[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2) + T.int64(1)]
                                                buffer_4[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2) + T.int64(1)] = buffer_5[T.int64(0)]
                                        T.tvm_storage_sync("shared")
                                    for v in range(T.int64(2)):
                                        if T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128) < T.int64(300):
                                            value_buf[(blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) // T.int64(300), (blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) % T.int64(300)] = buffer[T.int64(2) * threadIdx_x_1 + v]
                                            value_swap_buf[(blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) // T.int64(300), (blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) % T.int64(300)] = buffer[T.int64(2) * threadIdx_x_1 + v]
                                            out_buf[(blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) // T.int64(300), (blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) % T.int64(300)] = buffer_4[T.int64(2) * threadIdx_x_1 + v]
                                            out_swap_buf[(blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) // T.int64(300), (blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) % T.int64(300)] = buffer_4[T.int64(2) * threadIdx_x_1 + v]
                    for v in range(T.int64(2)):
                        with T.launch_thread("threadIdx.x", T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) as threadIdx_x_1:
                            with T.launch_thread("blockIdx.z", ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + T.int64(4095)) // T.int64(4096)) as blockIdx_z:
                                with T.launch_thread("blockIdx.x", b) as blockIdx_x:
                                    with T.launch_thread("blockIdx.y", (T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) as blockIdx_y:
                                        if (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y < T.int64(300):
                                            if ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + T.int64(4095)) // T.int64(4096) == T.int64(1):
                                                buffer = T.alloc_local((T.int64(1),), "int64")
                                                buffer_1 = T.alloc_local((T.int64(1),), "int64")
                                                buffer_2 = T.alloc_local((T.int64(1),), "int64")
                                                buffer_3 = T.alloc_local((T.int64(1),), "int64")
                                                if v % T.int64(2) == T.int64(0):
                                                    buffer[T.int64(0)] = T.max(T.int64(0), threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300))))
                                                    buffer_1[T.int64(0)] = T.min(threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))), T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y)
                                                    while buffer[T.int64(0)] < buffer_1[T.int64(0)]:
                                                        if value_buf[(blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)] <= value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)]:
                                                            buffer[T.int64(0)] = (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)) + T.int64(1)
                                                        else:
                                                            buffer_1[T.int64(0)] = buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)
                                                    buffer_2[T.int64(0)] = (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]
                                                    buffer_3[T.int64(0)] = T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - buffer_1[T.int64(0)]
                                                    for v_1 in range(T.min(T.min((blockIdx_y + T.int64(1)) * (T.int64(2) << v + T.int64(7)), T.int64(300)) - (T.int64(2) << v + T.int64(7)) * blockIdx_y - threadIdx_x_1 * (((T.int64(2) << v + T.int64(7)) + T.min(T.int64(1024), T.int64(2) << v + T.int64(7)) - T.int64(1)) // T.min(T.int64(1024), T.int64(2) << v + T.int64(7))), ((T.int64(2) << v + T.int64(7)) + T.min(T.int64(1024), T.int64(2) << v + T.int64(7)) - T.int64(1)) // T.min(T.int64(1024), T.int64(2) << v + T.int64(7)))):
                                                        if buffer_2[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y) and buffer_3[T.int64(0)] < T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300))):
                                                            if value_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)] <= value_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]:
                                                                value_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]
                                                                out_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = out_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]
                                                                buffer_2[T.int64(0)] = buffer_2[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)]
                                                                out_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = out_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)]
                                                                buffer_3[T.int64(0)] = buffer_3[T.int64(0)] + T.int64(1)
                                                        else:
                                                            if buffer_2[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y):
                                                                value_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]
                                                                out_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = out_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]
                                                                buffer_2[T.int64(0)] = buffer_2[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)]
                                                                out_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = out_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)]
                                                                buffer_3[T.int64(0)] = buffer_3[T.int64(0)] + T.int64(1)
                                                else:
                                                    buffer[T.int64(0)] = T.max(T.int64(0), threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300))))
                                                    buffer_1[T.int64(0)] = T.min(threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))), T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y)
                                                    while buffer[T.int64(0)] < buffer_1[T.int64(0)]:
                                                        if value_swap_buf[(blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)] <= value_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)]:
                                                            buffer[T.int64(0)] = (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)) + T.int64(1)
                                                        else:
                                                            buffer_1[T.int64(0)] = buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)
                                                    buffer_2[T.int64(0)] = (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]
                                                    buffer_3[T.int64(0)] = T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - buffer_1[T.int64(0)]
                                                    for v_1 in range(T.min(T.min((blockIdx_y + T.int64(1)) * (T.int64(2) << v + T.int64(7)), T.int64(300)) - (T.int64(2) << v + T.int64(7)) * blockIdx_y - threadIdx_x_1 * (((T.int64(2) << v + T.int64(7)) + T.min(T.int64(1024), T.int64(2) << v + T.int64(7)) - T.int64(1)) // T.min(T.int64(1024), T.int64(2) << v + T.int64(7))), ((T.int64(2) << v + T.int64(7)) + T.min(T.int64(1024), T.int64(2) << v + T.int64(7)) - T.int64(1)) // T.min(T.int64(1024), T.int64(2) << v + T.int64(7)))):
                                                        if buffer_2[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y) and buffer_3[T.int64(0)] < T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300))):
                                                            if value_swap_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)] <= value_swap_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]:
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_swap_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]
                                                                out_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = out_swap_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]
                                                                buffer_2[T.int64(0)] = buffer_2[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_swap_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)]
                                                                out_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = out_swap_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)]
                                                                buffer_3[T.int64(0)] = buffer_3[T.int64(0)] + T.int64(1)
                                                        else:
                                                            if buffer_2[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y):
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_swap_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]
                                                                out_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = out_swap_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]
                                                                buffer_2[T.int64(0)] = buffer_2[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_swap_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)]
                                                                out_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = out_swap_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)]
                                                                buffer_3[T.int64(0)] = buffer_3[T.int64(0)] + T.int64(1)
                                            else:
                                                buffer = T.alloc_local((T.int64(1),), "int64")
                                                buffer_1 = T.alloc_local((T.int64(1),), "int64")
                                                buffer_2 = T.alloc_local((T.int64(1),), "int64")
                                                buffer_3 = T.alloc_local((T.int64(1),), "int64")
                                                buffer_4 = T.alloc_local((T.int64(1),), "int64")
                                                buffer_5 = T.alloc_local((T.int64(1),), "int64")
                                                if v % T.int64(2) == T.int64(0):
                                                    buffer[T.int64(0)] = T.max(T.int64(0), blockIdx_z * T.int64(4096) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300))))
                                                    buffer_1[T.int64(0)] = T.min(blockIdx_z * T.int64(4096), T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y)
                                                    while buffer[T.int64(0)] < buffer_1[T.int64(0)]:
                                                        if value_buf[(blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)] <= value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)]:
                                                            buffer[T.int64(0)] = (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)) + T.int64(1)
                                                        else:
                                                            buffer_1[T.int64(0)] = buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)
                                                    buffer_2[T.int64(0)] = T.max(T.int64(0), threadIdx_x_1 * T.int64(4) - T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)]), T.int64(4096)))
                                                    buffer_3[T.int64(0)] = T.min(threadIdx_x_1 * T.int64(4), T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]), T.int64(4096)))
                                                    while buffer_2[T.int64(0)] < buffer_3[T.int64(0)]:
                                                        if value_buf[(blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + threadIdx_x_1 * T.int64(4) - T.int64(1) - (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + threadIdx_x_1 * T.int64(4) - T.int64(1) - (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) % T.int64(300)] <= value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) % T.int64(300)]:
                                                            buffer_2[T.int64(0)] = (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)) + T.int64(1)
                                                        else:
                                                            buffer_3[T.int64(0)] = buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)
                                                    buffer_4[T.int64(0)] = (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + buffer_2[T.int64(0)]
                                                    buffer_5[T.int64(0)] = T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + threadIdx_x_1 * T.int64(4) - buffer_3[T.int64(0)]
                                                    for v_1 in range(T.min(T.min(T.min((blockIdx_y + T.int64(1)) * (T.int64(2) << v + T.int64(7)), T.int64(300)) + buffer_1[T.int64(0)] - T.min((T.int64(2) << v + T.int64(7)) // T.int64(2) + (T.int64(2) << v + T.int64(7)) * blockIdx_y, T.int64(300)) - blockIdx_z * T.int64(4096), T.int64(4096)) + T.min(T.min((T.int64(2) << v + T.int64(7)) // T.int64(2), T.int64(300) - (T.int64(2) << v + T.int64(7)) * blockIdx_y) - buffer[T.int64(0)], T.int64(4096)) - threadIdx_x_1 * T.int64(4), T.int64(4))):
                                                        if buffer_4[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]), T.int64(4096)) and buffer_5[T.int64(0)] < T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)]), T.int64(4096)):
                                                            if value_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)] <= value_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]:
                                                                value_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]
                                                                out_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = out_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]
                                                                buffer_4[T.int64(0)] = buffer_4[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)]
                                                                out_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = out_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)]
                                                                buffer_5[T.int64(0)] = buffer_5[T.int64(0)] + T.int64(1)
                                                        else:
                                                            if buffer_4[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]), T.int64(4096)):
                                                                value_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]
                                                                out_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = out_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]
                                                                buffer_4[T.int64(0)] = buffer_4[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)]
                                                                out_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = out_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)]
                                                                buffer_5[T.int64(0)] = buffer_5[T.int64(0)] + T.int64(1)
                                                else:
                                                    buffer[T.int64(0)] = T.max(T.int64(0), blockIdx_z * T.int64(4096) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300))))
                                                    buffer_1[T.int64(0)] = T.min(blockIdx_z * T.int64(4096), T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y)
                                                    while buffer[T.int64(0)] < buffer_1[T.int64(0)]:
                                                        if value_swap_buf[(blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)] <= value_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)]:
                                                            buffer[T.int64(0)] = (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)) + T.int64(1)
                                                        else:
                                                            buffer_1[T.int64(0)] = buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)
                                                    buffer_2[T.int64(0)] = T.max(T.int64(0), threadIdx_x_1 * T.int64(4) - T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)]), T.int64(4096)))
                                                    buffer_3[T.int64(0)] = T.min(threadIdx_x_1 * T.int64(4), T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]), T.int64(4096)))
                                                    while buffer_2[T.int64(0)] < buffer_3[T.int64(0)]:
                                                        if value_swap_buf[(blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + threadIdx_x_1 * T.int64(4) - T.int64(1) - (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + threadIdx_x_1 * T.int64(4) - T.int64(1) - (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) % T.int64(300)] <= value_swap_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) % T.int64(300)]:
                                                            buffer_2[T.int64(0)] = (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)) + T.int64(1)
                                                        else:
                                                            buffer_3[T.int64(0)] = buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)
                                                    buffer_4[T.int64(0)] = (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + buffer_2[T.int64(0)]
                                                    buffer_5[T.int64(0)] = T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + threadIdx_x_1 * T.int64(4) - buffer_3[T.int64(0)]
                                                    for v_1 in range(T.min(T.min(T.min((blockIdx_y + T.int64(1)) * (T.int64(2) << v + T.int64(7)), T.int64(300)) + buffer_1[T.int64(0)] - T.min((T.int64(2) << v + T.int64(7)) // T.int64(2) + (T.int64(2) << v + T.int64(7)) * blockIdx_y, T.int64(300)) - blockIdx_z * T.int64(4096), T.int64(4096)) + T.min(T.min((T.int64(2) << v + T.int64(7)) // T.int64(2), T.int64(300) - (T.int64(2) << v + T.int64(7)) * blockIdx_y) - buffer[T.int64(0)], T.int64(4096)) - threadIdx_x_1 * T.int64(4), T.int64(4))):
                                                        if buffer_4[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]), T.int64(4096)) and buffer_5[T.int64(0)] < T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)]), T.int64(4096)):
                                                            if value_swap_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)] <= value_swap_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]:
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_swap_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]
                                                                out_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = out_swap_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]
                                                                buffer_4[T.int64(0)] = buffer_4[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_swap_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)]
                                                                out_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = out_swap_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)]
                                                                buffer_5[T.int64(0)] = buffer_5[T.int64(0)] + T.int64(1)
                                                        else:
                                                            if buffer_4[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]), T.int64(4096)):
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_swap_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]
                                                                out_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = out_swap_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]
                                                                buffer_4[T.int64(0)] = buffer_4[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_swap_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)]
                                                                out_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = out_swap_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)]
                                                                buffer_5[T.int64(0)] = buffer_5[T.int64(0)] + T.int64(1)
                    if T.Cast("int64", T.ceil(T.log2(T.float64(300.0)))) > T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))) and (T.Cast("int64", T.ceil(T.log2(T.float64(300.0)))) - T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) % T.int64(2) == T.int64(1):
                        with T.launch_thread("threadIdx.x", T.int64(1024)) as threadIdx_x_1:
                            with T.launch_thread("blockIdx.y", T.int64(1)) as blockIdx_y:
                                with T.launch_thread("blockIdx.x", b) as blockIdx_x:
                                    if blockIdx_y * T.int64(1024) + threadIdx_x_1 < T.int64(300):
                                        value_buf[(blockIdx_x * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x_1)) // T.int64(300), (blockIdx_x * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x_1)) % T.int64(300)] = value_swap_buf[(blockIdx_x * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x_1)) // T.int64(300), (blockIdx_x * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x_1)) % T.int64(300)]
                                        out_buf[(blockIdx_x * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x_1)) // T.int64(300), (blockIdx_x * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x_1)) % T.int64(300)] = out_swap_buf[(blockIdx_x * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x_1)) // T.int64(300), (blockIdx_x * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x_1)) % T.int64(300)]

    @T.prim_func(s_tir=True)
    def divide(lv3: T.Buffer((b, T.int64(300)), "float32"), sum: T.Buffer((b, T.int64(1)), "float32"), T_divide: T.Buffer((b, T.int64(300)), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0_ax1_fused_0 in T.thread_binding((b * T.int64(300) + T.int64(1023)) // T.int64(1024), thread="blockIdx.x"):
            for ax0_ax1_fused_1 in T.thread_binding(T.int64(1024), thread="threadIdx.x"):
                with T.sblock("T_divide"):
                    v0 = T.axis.spatial(b, (ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1) // T.int64(300))
                    v1 = T.axis.spatial(T.int64(300), (ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1) % T.int64(300))
                    T.where(ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1 < b * T.int64(300))
                    T.reads(lv3[v0, v1], sum[v0, T.int64(0)])
                    T.writes(T_divide[v0, v1])
                    T_divide[v0, v1] = lv3[v0, v1] / sum[v0, T.int64(0)]

    @T.prim_func(s_tir=True)
    def filter_with_top_p_top_k(prob: T.Buffer((b, T.int64(300)), "float32"), lv2: T.Buffer((b, T.int64(1)), "float32"), filter_with_top_p_top_k: T.Buffer((b, T.int64(300)), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0_ax1_fused_0 in T.thread_binding((b * T.int64(300) + T.int64(1023)) // T.int64(1024), thread="blockIdx.x"):
            for ax0_ax1_fused_1 in T.thread_binding(T.int64(1024), thread="threadIdx.x"):
                with T.sblock("filter_with_top_p_top_k"):
                    v0 = T.axis.spatial(b, (ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1) // T.int64(300))
                    v1 = T.axis.spatial(T.int64(300), (ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1) % T.int64(300))
                    T.where(ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1 < b * T.int64(300))
                    T.reads(lv2[v0, T.int64(0)], prob[v0, v1])
                    T.writes(filter_with_top_p_top_k[v0, v1])
                    filter_with_top_p_top_k[v0, v1] = T.Select(lv2[v0, T.int64(0)] <= prob[v0, v1], prob[v0, v1], T.float32(0.0))

    @T.prim_func(s_tir=True)
    def get_index_from_sorted(cumsum_sorted: T.Buffer((batch, vocab_size), "float32"), indices: T.Buffer((batch, vocab_size), "int32"), renorm_prob: T.Buffer((batch, 1), "float32"), usample: T.Buffer((out_batch, 1), "float32"), sample_indices: T.Buffer((out_batch, 1), "int64"), output_index: T.Buffer((out_batch, 1), "int32")):
        T.func_attr({"op_pattern": 8, "tirx.is_scheduled": True})
        # with T.sblock("root"):
        for ax0_ax1_fused_0 in T.thread_binding((out_batch * vocab_size + T.int64(1023)) // T.int64(1024), thread="blockIdx.x"):
            for ax0_ax1_fused_1 in T.thread_binding(T.int64(1024), thread="threadIdx.x"):
                with T.sblock("T_get_index_from_sorted"):
                    v0 = T.axis.spatial(out_batch, (ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1) // vocab_size)
                    v1 = T.axis.spatial(vocab_size, (ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1) % vocab_size)
                    T.where(ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1 < out_batch * vocab_size)
                    T.reads(usample[v0, T.int64(0)], cumsum_sorted[sample_indices[v0, T.int64(0)], v1 - T.int64(1):v1 - T.int64(1) + T.int64(2)], sample_indices[v0, T.int64(0)], renorm_prob[sample_indices[v0, T.int64(0)], 0], indices[sample_indices[v0, T.int64(0)], T.min(T.int64(0), v1):T.min(T.int64(0), v1) + (v1 + T.int64(1))])
                    T.writes(output_index[v0, 0])
                    if usample[v0, T.int64(0)] < cumsum_sorted[sample_indices[v0, T.int64(0)], v1] / renorm_prob[sample_indices[v0, T.int64(0)], 0] or v1 + T.int64(1) == vocab_size:
                        if v1 == T.int64(0):
                            output_index[v0, 0] = indices[sample_indices[v0, T.int64(0)], 0]
                        else:
                            if usample[v0, T.int64(0)] >= cumsum_sorted[sample_indices[v0, T.int64(0)], v1 - T.int64(1)] / renorm_prob[sample_indices[v0, T.int64(0)], 0]:
                                output_index[v0, 0] = indices[sample_indices[v0, T.int64(0)], v1]

    @T.prim_func(s_tir=True)
    def get_renorm_cutoff(sorted_prob: T.Buffer((batch, vocab_size), "float32"), cumsum_sorted: T.Buffer((batch, vocab_size), "float32"), top_p: T.Buffer((batch, 1), "float32"), top_k: T.Buffer((batch, 1), "int32"), cutoff: T.Buffer((batch, 1), "float32")):
        T.func_attr({"op_pattern": 8, "tirx.is_scheduled": True})
        # with T.sblock("root"):
        for ax0_ax1_fused_0 in T.thread_binding((batch * vocab_size + T.int64(1023)) // T.int64(1024), thread="blockIdx.x"):
            for ax0_ax1_fused_1 in T.thread_binding(T.int64(1024), thread="threadIdx.x"):
                with T.sblock("T_get_renorm_cutoff"):
                    v0 = T.axis.spatial(batch, (ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1) // vocab_size)
                    v1 = T.axis.spatial(vocab_size, (ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1) % vocab_size)
                    T.where(ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1 < batch * vocab_size)
                    T.reads(cumsum_sorted[v0, T.min(T.min(T.int64(0), v1), v1 + T.int64(1)):T.min(T.min(T.int64(0), v1), v1 + T.int64(1)) + (v1 + T.int64(2))], top_p[v0, 0], top_k[v0, 0], sorted_prob[v0, T.min(T.min(T.int64(0), v1), v1 + T.int64(1)):T.min(T.min(T.int64(0), v1), v1 + T.int64(1)) + (v1 + T.int64(2))])
                    T.writes(cutoff[v0, 0])
                    if (cumsum_sorted[v0, 0] < top_p[v0, 0] and top_k[v0, 0] > 1) == T.bool(False):
                        cutoff[v0, 0] = sorted_prob[v0, 0]
                    else:
                        if (cumsum_sorted[v0, v1] < top_p[v0, 0] and v1 + T.int64(1) < T.Cast("int64", top_k[v0, 0])) == T.bool(True):
                            if v1 + T.int64(1) == vocab_size:
                                cutoff[v0, 0] = sorted_prob[v0, v1]
                            else:
                                if (cumsum_sorted[v0, v1 + T.int64(1)] < top_p[v0, 0] and v1 + T.int64(1) + T.int64(1) < T.Cast("int64", top_k[v0, 0])) == T.bool(False):
                                    cutoff[v0, 0] = sorted_prob[v0, v1 + T.int64(1)]

    @T.prim_func(s_tir=True)
    def get_renorm_prob(cumsum_sorted: T.Buffer((batch, vocab_size), "float32"), top_p: T.Buffer((batch, 1), "float32"), top_k: T.Buffer((batch, 1), "int32"), renorm_prob: T.Buffer((batch, 1), "float32")):
        T.func_attr({"op_pattern": 8, "tirx.is_scheduled": True})
        # with T.sblock("root"):
        for ax0_ax1_fused_0 in T.thread_binding((batch * vocab_size + T.int64(1023)) // T.int64(1024), thread="blockIdx.x"):
            for ax0_ax1_fused_1 in T.thread_binding(T.int64(1024), thread="threadIdx.x"):
                with T.sblock("T_get_renorm_prob"):
                    v0 = T.axis.spatial(batch, (ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1) // vocab_size)
                    v1 = T.axis.spatial(vocab_size, (ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1) % vocab_size)
                    T.where(ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1 < batch * vocab_size)
                    T.reads(cumsum_sorted[v0, T.min(T.min(T.int64(0), v1), v1 + T.int64(1)):T.min(T.min(T.int64(0), v1), v1 + T.int64(1)) + (v1 + T.int64(2))], top_p[v0, 0], top_k[v0, 0])
                    T.writes(renorm_prob[v0, 0])
                    if not (cumsum_sorted[v0, 0] < top_p[v0, 0] and top_k[v0, 0] > 1):
                        renorm_prob[v0, 0] = cumsum_sorted[v0, 0]
                    else:
                        if cumsum_sorted[v0, v1] < top_p[v0, 0] and v1 + T.int64(1) < T.Cast("int64", top_k[v0, 0]):
                            if v1 + T.int64(1) == vocab_size:
                                renorm_prob[v0, 0] = cumsum_sorted[v0, v1]
                            else:
                                if not (cumsum_sorted[v0, v1 + T.int64(1)] < top_p[v0, 0] and v1 + T.int64(1) + T.int64(1) < T.Cast("int64", top_k[v0, 0])):
                                    renorm_prob[v0, 0] = cumsum_sorted[v0, v1 + T.int64(1)]

    @T.prim_func(s_tir=True)
    def gpu_2d_continuous_cumsum(A: T.Buffer((m, n), "int32"), Out: T.Buffer((m, n), "int32")):
        T.func_attr({"op_pattern": 8, "tirx.is_scheduled": True})
        # with T.sblock("root"):
        Tmp = T.alloc_buffer((m, n), "int32")
        total_rounds: T.let[T.int64] = T.Cast("int64", n > T.int64(256)) + T.Cast("int64", n > T.int64(131072)) + T.Cast("int64", n > T.int64(67108864)) + T.Cast("int64", n > T.int64(34359738368)) + T.Cast("int64", n > T.int64(17592186044416)) + T.Cast("int64", n > T.int64(9007199254740992)) + T.Cast("int64", n > T.int64(4611686018427387904))
        for by in T.thread_binding(m, thread="blockIdx.y"):
            for bx in T.thread_binding((n + T.int64(511)) // T.int64(512), thread="blockIdx.x"):
                with T.sblock(""):
                    T.reads(A[by, bx * T.int64(512):bx * T.int64(512) + T.int64(512)])
                    T.writes(Out[by, bx * T.int64(512):bx * T.int64(512) + T.int64(512)], Tmp[by, bx])
                    local_buf = T.sblock_alloc_buffer((4,), "int32", scope="local")
                    shared_buf = T.sblock_alloc_buffer((T.int64(512),), "int32", scope="shared")
                    for ty in T.thread_binding(T.int64(4), thread="threadIdx.y"):
                        for tx in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                            tx_idx: T.let[T.int64] = bx * T.int64(512) + ty * T.int64(128) + tx * T.int64(4)
                            for i in T.vectorized(T.int64(4)):
                                local_buf[i] = T.if_then_else(tx_idx + i < n, T.Cast("int32", A[by, tx_idx + i]), T.Cast("int32", 0))
                            for i in T.unroll(T.int64(1), T.int64(4)):
                                local_buf[i] = local_buf[i] + local_buf[i - T.int64(1)]
                            for i in T.vectorized(T.int64(4)):
                                shared_buf[ty * T.int64(128) + tx * T.int64(4) + i] = local_buf[i]
                            for i in T.unroll(T.int64(5)):
                                for j in T.vectorized(T.int64(4)):
                                    idx: T.let[T.int64] = ty * T.int64(128) + tx * T.int64(4)
                                    if tx >= T.int64(1) << i:
                                        shared_buf[idx + j] = shared_buf[idx + j] + shared_buf[idx - (T.int64(1) << i) * T.int64(4) + T.int64(4) - T.int64(1)]
                            for i in T.unroll(T.int64(1), T.int64(4)):
                                for j in T.vectorized(T.int64(4)):
                                    if ty == T.int64(0):
                                        idx: T.let[T.int64] = i * T.int64(128) + tx * T.int64(4)
                                        shared_buf[idx + j] = shared_buf[idx + j] + shared_buf[i * T.int64(128) - T.int64(1)]
                            for i in T.vectorized(T.int64(4)):
                                idx: T.let[T.int64] = ty * T.int64(128) + tx * T.int64(4) + i
                                if bx * T.int64(512) + idx < n:
                                    Out[by, bx * T.int64(512) + idx] = shared_buf[idx]
                            if tx == T.int64(0) and ty == T.int64(0):
                                for i in T.vectorized(T.int64(4)):
                                    Tmp[by, bx] = shared_buf[T.int64(511)]
        for i in range(total_rounds):
            shift: T.let[T.int64] = T.min(T.max(T.int64(9) * (i + T.int64(1)), T.int64(0)), T.int64(63))
            block_shift: T.let[T.int64] = T.min(shift + T.int64(9), T.int64(63))
            cur_len: T.let[T.int64] = (n - T.int64(1) >> shift) + T.int64(1)
            num_blocks: T.let[T.int64] = (n - T.int64(1) >> block_shift) + T.int64(1)
            for by in T.thread_binding(m, thread="blockIdx.y"):
                for bx in T.thread_binding(num_blocks, thread="blockIdx.x"):
                    with T.sblock(""):
                        T.reads(Tmp[by, bx * T.int64(512) + i * ((n + T.int64(511)) // T.int64(512)):bx * T.int64(512) + i * ((n + T.int64(511)) // T.int64(512)) + T.int64(512)])
                        T.writes(Tmp[by, T.min(bx * T.int64(512) + i * ((n + T.int64(511)) // T.int64(512)), (i + T.int64(1)) * ((n + T.int64(511)) // T.int64(512)) + bx):T.min(bx * T.int64(512) + i * ((n + T.int64(511)) // T.int64(512)), (i + T.int64(1)) * ((n + T.int64(511)) // T.int64(512)) + bx) + (T.max(bx * T.int64(512) + i * ((n + T.int64(511)) // T.int64(512)) + T.int64(511), (i + T.int64(1)) * ((n + T.int64(511)) // T.int64(512)) + bx) + T.int64(1) - T.min(bx * T.int64(512) + i * ((n + T.int64(511)) // T.int64(512)), (i + T.int64(1)) * ((n + T.int64(511)) // T.int64(512)) + bx))])
                        local_buf = T.sblock_alloc_buffer((4,), "int32", scope="local")
                        shared_buf = T.sblock_alloc_buffer((T.int64(512),), "int32", scope="shared")
                        for ty in T.thread_binding(T.int64(4), thread="threadIdx.y"):
                            for tx in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                                tx_idx: T.let[T.int64] = bx * T.int64(512) + ty * T.int64(128) + tx * T.int64(4)
                                for i_1 in T.vectorized(T.int64(4)):
                                    local_buf[i_1] = T.if_then_else(tx_idx + i_1 < cur_len, T.Cast("int32", Tmp[by, i * ((n + T.int64(512) - T.int64(1)) // T.int64(512)) + tx_idx + i_1]), T.Cast("int32", 0))
                                for i_1 in T.unroll(T.int64(1), T.int64(4)):
                                    local_buf[i_1] = local_buf[i_1] + local_buf[i_1 - T.int64(1)]
                                for i_1 in T.vectorized(T.int64(4)):
                                    shared_buf[ty * T.int64(128) + tx * T.int64(4) + i_1] = local_buf[i_1]
                                for i_1 in T.unroll(T.int64(5)):
                                    for j in T.vectorized(T.int64(4)):
                                        idx: T.let[T.int64] = ty * T.int64(128) + tx * T.int64(4)
                                        if tx >= T.int64(1) << i_1:
                                            shared_buf[idx + j] = shared_buf[idx + j] + shared_buf[idx - (T.int64(1) << i_1) * T.int64(4) + T.int64(4) - T.int64(1)]
                                for i_1 in T.unroll(T.int64(1), T.int64(4)):
                                    for j in T.vectorized(T.int64(4)):
                                        if ty == T.int64(0):
                                            idx: T.let[T.int64] = i_1 * T.int64(128) + tx * T.int64(4)
                                            shared_buf[idx + j] = shared_buf[idx + j] + shared_buf[i_1 * T.int64(128) - T.int64(1)]
                                for i_1 in T.vectorized(T.int64(4)):
                                    idx: T.let[T.int64] = ty * T.int64(128) + tx * T.int64(4) + i_1
                                    if bx * T.int64(512) + idx < cur_len:
                                        Tmp[by, i * ((n + T.int64(512) - T.int64(1)) // T.int64(512)) + bx * T.int64(512) + idx] = shared_buf[idx]
                                if tx == T.int64(0) and ty == T.int64(0):
                                    for i_1 in T.vectorized(T.int64(4)):
                                        Tmp[by, (i + T.int64(1)) * ((n + T.int64(512) - T.int64(1)) // T.int64(512)) + bx] = shared_buf[T.int64(511)]
        reverse_rounds: T.let[T.int64] = T.max(total_rounds - T.int64(1), T.int64(0))
        for i in range(reverse_rounds):
            real_idx: T.let[T.int64] = reverse_rounds - T.int64(1) - i
            shift: T.let[T.int64] = T.min(T.max(T.int64(9) * (real_idx + T.int64(1)), T.int64(0)), T.int64(63))
            block_shift: T.let[T.int64] = T.min(shift + T.int64(9), T.int64(63))
            cur_len: T.let[T.int64] = (n - T.int64(1) >> shift) + T.int64(1)
            num_blocks: T.let[T.int64] = (n - T.int64(1) >> block_shift) + T.int64(1)
            for by in T.thread_binding(m, thread="blockIdx.y"):
                for bx in T.thread_binding(num_blocks, thread="blockIdx.x"):
                    for ty in T.thread_binding(T.int64(4), thread="threadIdx.y"):
                        for tx in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                            for i_1 in range(T.int64(4)):
                                idx: T.let[T.int64] = bx * T.int64(512) + ty * T.int64(128) + i_1 * T.int64(32) + tx
                                if idx < cur_len:
                                    Tmp[by, real_idx * ((n + T.int64(512) - T.int64(1)) // T.int64(512)) + idx] = Tmp[by, real_idx * ((n + T.int64(512) - T.int64(1)) // T.int64(512)) + idx] + T.if_then_else(bx > T.int64(0), Tmp[by, (real_idx + T.int64(1)) * ((n + T.int64(512) - T.int64(1)) // T.int64(512)) + bx - T.int64(1)], 0)
        for by in T.thread_binding(m, thread="blockIdx.y"):
            for bx in T.thread_binding((n + T.int64(511)) // T.int64(512), thread="blockIdx.x"):
                for ty in T.thread_binding(T.int64(4), thread="threadIdx.y"):
                    for tx in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                        for i in range(T.int64(4)):
                            idx: T.let[T.int64] = bx * T.int64(512) + ty * T.int64(128) + i * T.int64(32) + tx
                            if idx < n:
                                Out[by, idx] = Out[by, idx] + T.if_then_else(bx > T.int64(0), Tmp[by, bx - T.int64(1)], 0)

    @T.prim_func(s_tir=True)
    def gpu_2d_continuous_cumsum1(A: T.Buffer((m, n), "float32"), Out: T.Buffer((m, n), "float32")):
        T.func_attr({"op_pattern": 8, "tirx.is_scheduled": True})
        # with T.sblock("root"):
        Tmp = T.alloc_buffer((m, n))
        total_rounds: T.let[T.int64] = T.Cast("int64", n > T.int64(256)) + T.Cast("int64", n > T.int64(131072)) + T.Cast("int64", n > T.int64(67108864)) + T.Cast("int64", n > T.int64(34359738368)) + T.Cast("int64", n > T.int64(17592186044416)) + T.Cast("int64", n > T.int64(9007199254740992)) + T.Cast("int64", n > T.int64(4611686018427387904))
        for by in T.thread_binding(m, thread="blockIdx.y"):
            for bx in T.thread_binding((n + T.int64(511)) // T.int64(512), thread="blockIdx.x"):
                with T.sblock(""):
                    T.reads(A[by, bx * T.int64(512):bx * T.int64(512) + T.int64(512)])
                    T.writes(Out[by, bx * T.int64(512):bx * T.int64(512) + T.int64(512)], Tmp[by, bx])
                    local_buf = T.sblock_alloc_buffer((4,), scope="local")
                    shared_buf = T.sblock_alloc_buffer((T.int64(512),), scope="shared")
                    for ty in T.thread_binding(T.int64(4), thread="threadIdx.y"):
                        for tx in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                            tx_idx: T.let[T.int64] = bx * T.int64(512) + ty * T.int64(128) + tx * T.int64(4)
                            for i in T.vectorized(T.int64(4)):
                                local_buf[i] = T.if_then_else(tx_idx + i < n, T.Cast("float32", A[by, tx_idx + i]), T.Cast("float32", 0))
                            for i in T.unroll(T.int64(1), T.int64(4)):
                                local_buf[i] = local_buf[i] + local_buf[i - T.int64(1)]
                            for i in T.vectorized(T.int64(4)):
                                shared_buf[ty * T.int64(128) + tx * T.int64(4) + i] = local_buf[i]
                            for i in T.unroll(T.int64(5)):
                                for j in T.vectorized(T.int64(4)):
                                    idx: T.let[T.int64] = ty * T.int64(128) + tx * T.int64(4)
                                    if tx >= T.int64(1) << i:
                                        shared_buf[idx + j] = shared_buf[idx + j] + shared_buf[idx - (T.int64(1) << i) * T.int64(4) + T.int64(4) - T.int64(1)]
                            for i in T.unroll(T.int64(1), T.int64(4)):
                                for j in T.vectorized(T.int64(4)):
                                    if ty == T.int64(0):
                                        idx: T.let[T.int64] = i * T.int64(128) + tx * T.int64(4)
                                        shared_buf[idx + j] = shared_buf[idx + j] + shared_buf[i * T.int64(128) - T.int64(1)]
                            for i in T.vectorized(T.int64(4)):
                                idx: T.let[T.int64] = ty * T.int64(128) + tx * T.int64(4) + i
                                if bx * T.int64(512) + idx < n:
                                    Out[by, bx * T.int64(512) + idx] = shared_buf[idx]
                            if tx == T.int64(0) and ty == T.int64(0):
                                for i in T.vectorized(T.int64(4)):
                                    Tmp[by, bx] = shared_buf[T.int64(511)]
        for i in range(total_rounds):
            shift: T.let[T.int64] = T.min(T.max(T.int64(9) * (i + T.int64(1)), T.int64(0)), T.int64(63))
            block_shift: T.let[T.int64] = T.min(shift + T.int64(9), T.int64(63))
            cur_len: T.let[T.int64] = (n - T.int64(1) >> shift) + T.int64(1)
            num_blocks: T.let[T.int64] = (n - T.int64(1) >> block_shift) + T.int64(1)
            for by in T.thread_binding(m, thread="blockIdx.y"):
                for bx in T.thread_binding(num_blocks, thread="blockIdx.x"):
                    with T.sblock(""):
                        T.reads(Tmp[by, bx * T.int64(512) + i * ((n + T.int64(511)) // T.int64(512)):bx * T.int64(512) + i * ((n + T.int64(511)) // T.int64(512)) + T.int64(512)])
                        T.writes(Tmp[by, T.min(bx * T.int64(512) + i * ((n + T.int64(511)) // T.int64(512)), (i + T.int64(1)) * ((n + T.int64(511)) // T.int64(512)) + bx):T.min(bx * T.int64(512) + i * ((n + T.int64(511)) // T.int64(512)), (i + T.int64(1)) * ((n + T.int64(511)) // T.int64(512)) + bx) + (T.max(bx * T.int64(512) + i * ((n + T.int64(511)) // T.int64(512)) + T.int64(511), (i + T.int64(1)) * ((n + T.int64(511)) // T.int64(512)) + bx) + T.int64(1) - T.min(bx * T.int64(512) + i * ((n + T.int64(511)) // T.int64(512)), (i + T.int64(1)) * ((n + T.int64(511)) // T.int64(512)) + bx))])
                        local_buf = T.sblock_alloc_buffer((4,), scope="local")
                        shared_buf = T.sblock_alloc_buffer((T.int64(512),), scope="shared")
                        for ty in T.thread_binding(T.int64(4), thread="threadIdx.y"):
                            for tx in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                                tx_idx: T.let[T.int64] = bx * T.int64(512) + ty * T.int64(128) + tx * T.int64(4)
                                for i_1 in T.vectorized(T.int64(4)):
                                    local_buf[i_1] = T.if_then_else(tx_idx + i_1 < cur_len, T.Cast("float32", Tmp[by, i * ((n + T.int64(512) - T.int64(1)) // T.int64(512)) + tx_idx + i_1]), T.Cast("float32", 0))
                                for i_1 in T.unroll(T.int64(1), T.int64(4)):
                                    local_buf[i_1] = local_buf[i_1] + local_buf[i_1 - T.int64(1)]
                                for i_1 in T.vectorized(T.int64(4)):
                                    shared_buf[ty * T.int64(128) + tx * T.int64(4) + i_1] = local_buf[i_1]
                                for i_1 in T.unroll(T.int64(5)):
                                    for j in T.vectorized(T.int64(4)):
                                        idx: T.let[T.int64] = ty * T.int64(128) + tx * T.int64(4)
                                        if tx >= T.int64(1) << i_1:
                                            shared_buf[idx + j] = shared_buf[idx + j] + shared_buf[idx - (T.int64(1) << i_1) * T.int64(4) + T.int64(4) - T.int64(1)]
                                for i_1 in T.unroll(T.int64(1), T.int64(4)):
                                    for j in T.vectorized(T.int64(4)):
                                        if ty == T.int64(0):
                                            idx: T.let[T.int64] = i_1 * T.int64(128) + tx * T.int64(4)
                                            shared_buf[idx + j] = shared_buf[idx + j] + shared_buf[i_1 * T.int64(128) - T.int64(1)]
                                for i_1 in T.vectorized(T.int64(4)):
                                    idx: T.let[T.int64] = ty * T.int64(128) + tx * T.int64(4) + i_1
                                    if bx * T.int64(512) + idx < cur_len:
                                        Tmp[by, i * ((n + T.int64(512) - T.int64(1)) // T.int64(512)) + bx * T.int64(512) + idx] = shared_buf[idx]
                                if tx == T.int64(0) and ty == T.int64(0):
                                    for i_1 in T.vectorized(T.int64(4)):
                                        Tmp[by, (i + T.int64(1)) * ((n + T.int64(512) - T.int64(1)) // T.int64(512)) + bx] = shared_buf[T.int64(511)]
        reverse_rounds: T.let[T.int64] = T.max(total_rounds - T.int64(1), T.int64(0))
        for i in range(reverse_rounds):
            real_idx: T.let[T.int64] = reverse_rounds - T.int64(1) - i
            shift: T.let[T.int64] = T.min(T.max(T.int64(9) * (real_idx + T.int64(1)), T.int64(0)), T.int64(63))
            block_shift: T.let[T.int64] = T.min(shift + T.int64(9), T.int64(63))
            cur_len: T.let[T.int64] = (n - T.int64(1) >> shift) + T.int64(1)
            num_blocks: T.let[T.int64] = (n - T.int64(1) >> block_shift) + T.int64(1)
            for by in T.thread_binding(m, thread="blockIdx.y"):
                for bx in T.thread_binding(num_blocks, thread="blockIdx.x"):
                    for ty in T.thread_binding(T.int64(4), thread="threadIdx.y"):
                        for tx in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                            for i_1 in range(T.int64(4)):
                                idx: T.let[T.int64] = bx * T.int64(512) + ty * T.int64(128) + i_1 * T.int64(32) + tx
                                if idx < cur_len:
                                    Tmp[by, real_idx * ((n + T.int64(512) - T.int64(1)) // T.int64(512)) + idx] = Tmp[by, real_idx * ((n + T.int64(512) - T.int64(1)) // T.int64(512)) + idx] + T.if_then_else(bx > T.int64(0), Tmp[by, (real_idx + T.int64(1)) * ((n + T.int64(512) - T.int64(1)) // T.int64(512)) + bx - T.int64(1)], T.float32(0.0))
        for by in T.thread_binding(m, thread="blockIdx.y"):
            for bx in T.thread_binding((n + T.int64(511)) // T.int64(512), thread="blockIdx.x"):
                for ty in T.thread_binding(T.int64(4), thread="threadIdx.y"):
                    for tx in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                        for i in range(T.int64(4)):
                            idx: T.let[T.int64] = bx * T.int64(512) + ty * T.int64(128) + i * T.int64(32) + tx
                            if idx < n:
                                Out[by, idx] = Out[by, idx] + T.if_then_else(bx > T.int64(0), Tmp[by, bx - T.int64(1)], T.float32(0.0))

    @T.prim_func(s_tir=True)
    def parallel_sampling_from_prob(prob: T.Buffer((n, vocab_size), "float32"), uniform_samples: T.Buffer((batch_size, 1), "float32"), row_indices: T.Buffer((batch_size, 1), "int64"), token_ids: T.Buffer((batch_size, 1), "int32")):
        T.func_attr({"op_pattern": 8, "tirx.is_scheduled": True})
        # with T.sblock("root"):
        aggregate = T.sblock_alloc_buffer((), scope="local")
        sample_id_local = T.sblock_alloc_buffer((), "int32", scope="local")
        step_iter = T.sblock_alloc_buffer((), "int32", scope="local")
        for bx in T.thread_binding(batch_size, thread="blockIdx.x"):
            row_idx: T.let[T.int64] = T.Cast("int64", row_indices[bx, 0])
            for ty in T.thread_binding(T.int64(4), thread="threadIdx.y"):
                for tx in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                    u: T.let[T.float32] = uniform_samples[bx, 0]
                    aggregate[()] = T.Cast("float32", 0)
                    step_iter[()] = 0
                    while T.tvm_thread_invariant((step_iter[()] == 0 or aggregate[()] < u - T.float32(9.9999999999999995e-07)) and T.Cast("int64", step_iter[()]) < T.Cast("int64", (vocab_size + T.int64(512) - T.int64(1)) // T.int64(512))):
                        with T.sblock(""):
                            T.reads(step_iter[()], prob[row_idx, T.Cast("int64", step_iter[()]) * T.int64(512) + ty * T.int64(128) + tx * T.int64(4):T.Cast("int64", step_iter[()]) * T.int64(512) + ty * T.int64(128) + tx * T.int64(4) + T.int64(4)], aggregate[()])
                            T.writes(sample_id_local[()], aggregate[()])
                            prob_gt_threshold = T.sblock_alloc_buffer((T.int64(4),), scope="local")
                            cumsum = T.sblock_alloc_buffer((T.int64(512),), scope="shared")
                            greater_than_u = T.sblock_alloc_buffer((T.int64(4),), "bool", scope="local")
                            mask = T.sblock_alloc_buffer((T.int64(4),), "bool", scope="local")
                            valid = T.sblock_alloc_buffer((T.int64(4),), "bool", scope="local")
                            indices = T.sblock_alloc_buffer((T.int64(4),), "int32", scope="local")
                            step_aggregate = T.sblock_alloc_buffer((), scope="local")
                            for v in T.unroll(T.int64(4)):
                                idx: T.let[T.int64] = T.Cast("int64", step_iter[()]) * T.int64(512) + ty * T.int64(128) + tx * T.int64(4) + v
                                prob_local: T.let[T.float32] = T.if_then_else(idx < vocab_size, prob[row_idx, idx], T.Cast("float32", 0))
                                prob_gt_threshold[v] = T.if_then_else(prob_local > T.float32(0.0), prob_local, T.Cast("float32", 0))
                                valid[v] = prob_local > T.float32(0.0) and idx < vocab_size
                            with T.sblock(""):
                                T.reads(prob_gt_threshold[T.int64(0):T.int64(4)])
                                T.writes(step_aggregate[()])
                                local_sum = T.sblock_alloc_buffer((), scope="local")
                                shared_buf = T.sblock_alloc_buffer((T.int64(128),), scope="shared")
                                idx: T.let[T.int64] = ty * T.int64(32) + tx
                                local_sum[()] = T.Cast("float32", 0)
                                for i in T.unroll(T.int64(4)):
                                    local_sum[()] = local_sum[()] + prob_gt_threshold[i]
                                shared_buf[idx] = local_sum[()]
                                for i in T.unroll(T.int64(7)):
                                    if idx % (T.int64(1) << i + T.int64(1)) == T.int64(0):
                                        shared_buf[idx] = shared_buf[idx] + shared_buf[idx + (T.int64(1) << i)]
                                step_aggregate[()] = shared_buf[0]
                            if T.tvm_thread_invariant(aggregate[()] + step_aggregate[()] >= u - T.float32(9.9999999999999995e-07)):
                                for i in T.unroll(T.int64(1), T.int64(4)):
                                    prob_gt_threshold[i] = prob_gt_threshold[i] + prob_gt_threshold[i - T.int64(1)]
                                for i in T.vectorized(T.int64(4)):
                                    cumsum[ty * T.int64(128) + tx * T.int64(4) + i] = prob_gt_threshold[i]
                                for i in T.unroll(T.int64(5)):
                                    for j in T.vectorized(T.int64(4)):
                                        idx: T.let[T.int64] = ty * T.int64(128) + tx * T.int64(4)
                                        if tx >= T.int64(1) << i:
                                            cumsum[idx + j] = cumsum[idx + j] + cumsum[idx - (T.int64(1) << i) * T.int64(4) + T.int64(4) - T.int64(1)]
                                for i in T.unroll(T.int64(1), T.int64(4)):
                                    for j in T.vectorized(T.int64(4)):
                                        if ty == T.int64(0):
                                            idx: T.let[T.int64] = i * T.int64(128) + tx * T.int64(4)
                                            cumsum[idx + j] = cumsum[idx + j] + cumsum[i * T.int64(128) - T.int64(1)]
                                for v in T.unroll(T.int64(4)):
                                    greater_than_u[v] = cumsum[ty * T.int64(128) + tx * T.int64(4) + v] + aggregate[()] >= u - T.float32(9.9999999999999995e-07)
                                with T.sblock(""):
                                    T.reads(greater_than_u[T.int64(0):T.int64(4)])
                                    T.writes(mask[T.int64(0):T.int64(4)])
                                    shared_buf = T.sblock_alloc_buffer((T.int64(128),), "bool", scope="shared")
                                    tx_idx: T.let[T.int64] = ty * T.int64(32) + tx
                                    shared_buf[tx_idx] = greater_than_u[T.int64(3)]
                                    mask[0] = T.if_then_else(tx_idx != T.int64(0), T.Cast("int8", greater_than_u[0]) != T.Cast("int8", shared_buf[tx_idx - T.int64(1)]), greater_than_u[0])
                                    for i in T.unroll(T.int64(1), T.int64(4)):
                                        mask[i] = T.Cast("int8", greater_than_u[i]) != T.Cast("int8", greater_than_u[i - T.int64(1)])
                                for v in T.unroll(T.int64(4)):
                                    mask[v] = mask[v] and valid[v]
                                    indices[v] = T.Cast("int32", T.Cast("int64", step_iter[()]) * T.int64(512) + ty * T.int64(128) + tx * T.int64(4) + v)
                                with T.sblock(""):
                                    T.reads(mask[T.int64(0):T.int64(4)], indices[T.int64(0):T.int64(4)])
                                    T.writes(sample_id_local[()])
                                    local_sum = T.sblock_alloc_buffer((), "int32", scope="local")
                                    shared_buf = T.sblock_alloc_buffer((T.int64(128),), "int32", scope="shared")
                                    idx: T.let[T.int64] = ty * T.int64(32) + tx
                                    local_sum[()] = T.Cast("int32", vocab_size - T.int64(1))
                                    for i in T.unroll(T.int64(4)):
                                        if mask[i]:
                                            local_sum[()] = T.min(local_sum[()], indices[i])
                                    shared_buf[idx] = local_sum[()]
                                    for i in T.unroll(T.int64(7)):
                                        if idx % (T.int64(1) << i + T.int64(1)) == T.int64(0):
                                            shared_buf[idx] = T.min(shared_buf[idx], shared_buf[idx + (T.int64(1) << i)])
                                    sample_id_local[()] = shared_buf[0]
                            aggregate[()] = aggregate[()] + step_aggregate[()]
                        step_iter[()] = step_iter[()] + 1
                    if tx == T.int64(0) and ty == T.int64(0):
                        token_ids[bx, 0] = sample_id_local[()]

    @T.prim_func(s_tir=True)
    def shape_func(H: T.Buffer((T.int64(2),), "int64")):
        T.func_attr({"tirx.is_host_func": True})
        H[T.int64(1)] = T.int64(4) * H[T.int64(0)] * T.int64(300)

    @T.prim_func(s_tir=True)
    def shape_func1(H: T.Buffer((T.int64(2),), "int64")):
        T.func_attr({"tirx.is_host_func": True})
        H[T.int64(1)] = T.int64(4) * H[T.int64(0)] * T.int64(1300)

    @T.prim_func(s_tir=True)
    def shape_func2(H: T.Buffer((T.int64(4),), "int64")):
        T.func_attr({"tirx.is_host_func": True})
        H[T.int64(2)] = T.int64(4) * H[T.int64(0)]
        H[T.int64(1)] = T.int64(1200) * H[T.int64(0)]
        H[T.int64(3)] = T.int64(4) * H[T.int64(0)] * T.int64(300)

    @T.prim_func(s_tir=True)
    def shape_func3(H: T.Buffer((T.int64(3),), "int64")):
        T.func_attr({"tirx.is_host_func": True})
        H[T.int64(2)] = T.int64(4) * H[T.int64(1)]

    @T.prim_func(s_tir=True)
    def shape_func6(H: T.Buffer((T.int64(5),), "int64")):
        T.func_attr({"tirx.is_host_func": True})
        H[T.int64(3)] = T.int64(4) * H[T.int64(0)]
        H[T.int64(2)] = T.int64(1200) * H[T.int64(0)]
        H[T.int64(4)] = T.int64(4) * H[T.int64(1)]

    @T.prim_func(s_tir=True)
    def sort(probs: T.Buffer((b, T.int64(300)), "float32", elem_offset=elem_offset), value_buf: T.Buffer((b, T.int64(300)), "float32", align=8)):
        T.func_attr({"op_pattern": 8, "tirx.is_scheduled": True, "tirx.noalias": True})
        with T.sblock("root"):
            value_buf_swap = T.sblock_alloc_buffer((b, T.int64(300)), align=8)
            with T.sblock("sort_gpu"):
                T.reads()
                T.writes()
                if T.bool(True):
                    with T.launch_thread("threadIdx.x", T.int64(1024)) as threadIdx_x:
                        with T.launch_thread("blockIdx.y", T.int64(1)) as blockIdx_y:
                            with T.launch_thread("blockIdx.x", b) as blockIdx_x:
                                if blockIdx_y * T.int64(1024) + threadIdx_x < T.int64(300):
                                    value_buf[(blockIdx_x % b * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x) + blockIdx_x // b) // T.int64(300), (blockIdx_x % b * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x) + blockIdx_x // b) % T.int64(300)] = probs[(blockIdx_x % b * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x) + blockIdx_x // b) // T.int64(300), (blockIdx_x % b * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x) + blockIdx_x // b) % T.int64(300)]
                    with T.attr(0, "hand_threaded", 0):
                        with T.launch_thread("threadIdx.x", T.int64(64)) as threadIdx_x_1:
                            with T.launch_thread("blockIdx.y", T.int64(3)) as blockIdx_y:
                                with T.launch_thread("blockIdx.x", b) as blockIdx_x:
                                    buffer = T.alloc_shared((T.int64(128),))
                                    buffer_1 = T.alloc_local((T.int64(1),))
                                    buffer_2 = T.alloc_local((T.int64(1),))
                                    buffer_3 = T.alloc_local((T.int64(1),))
                                    for v in range(T.int64(2)):
                                        if T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128) < T.int64(300):
                                            buffer[T.int64(2) * threadIdx_x_1 + v] = value_buf[(blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) // T.int64(300), (blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) % T.int64(300)]
                                    T.tvm_storage_sync("shared")
                                    for v in range(T.min(T.int64(128), T.int64(300) - blockIdx_y * T.int64(128))):
                                        if T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2) < T.min(T.int64(128), T.int64(300) - blockIdx_y * T.int64(128)) - T.int64(1):
                                            buffer_2[T.int64(0)] = buffer[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2)]
                                            buffer_3[T.int64(0)] = buffer[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2) + T.int64(1)]
                                            if buffer_2[T.int64(0)] < buffer_3[T.int64(0)]:
                                                buffer_1[T.int64(0)] = buffer[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2)]
                                                buffer[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2)] = buffer[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2) + T.int64(1)]
                                                buffer[T.int64(2) * threadIdx_x_1 + (T.int64(2) * threadIdx_x_1 + v) % T.int64(2) + T.int64(1)] = buffer_1[T.int64(0)]
                                        T.tvm_storage_sync("shared")
                                    for v in range(T.int64(2)):
                                        if T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128) < T.int64(300):
                                            value_buf[(blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) // T.int64(300), (blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) % T.int64(300)] = buffer[T.int64(2) * threadIdx_x_1 + v]
                                            value_buf_swap[(blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) // T.int64(300), (blockIdx_x % b * T.int64(300) + blockIdx_x // b + (T.int64(2) * threadIdx_x_1 + v + blockIdx_y * T.int64(128))) % T.int64(300)] = buffer[T.int64(2) * threadIdx_x_1 + v]
                    for v in range(T.int64(2)):
                        with T.launch_thread("threadIdx.x", T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) as threadIdx_x_1:
                            with T.launch_thread("blockIdx.z", ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + T.int64(4095)) // T.int64(4096)) as blockIdx_z:
                                with T.launch_thread("blockIdx.x", b) as blockIdx_x:
                                    with T.launch_thread("blockIdx.y", (T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) as blockIdx_y:
                                        if (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y < T.int64(300):
                                            if ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + T.int64(4095)) // T.int64(4096) == T.int64(1):
                                                buffer = T.alloc_local((T.int64(1),), "int64")
                                                buffer_1 = T.alloc_local((T.int64(1),), "int64")
                                                buffer_2 = T.alloc_local((T.int64(1),), "int64")
                                                buffer_3 = T.alloc_local((T.int64(1),), "int64")
                                                if v % T.int64(2) == T.int64(0):
                                                    buffer[T.int64(0)] = T.max(T.int64(0), threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300))))
                                                    buffer_1[T.int64(0)] = T.min(threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))), T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y)
                                                    while buffer[T.int64(0)] < buffer_1[T.int64(0)]:
                                                        if value_buf[(blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)] <= value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)]:
                                                            buffer[T.int64(0)] = (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)) + T.int64(1)
                                                        else:
                                                            buffer_1[T.int64(0)] = buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)
                                                    buffer_2[T.int64(0)] = (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]
                                                    buffer_3[T.int64(0)] = T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - buffer_1[T.int64(0)]
                                                    for v_1 in range(T.min(T.min((blockIdx_y + T.int64(1)) * (T.int64(2) << v + T.int64(7)), T.int64(300)) - (T.int64(2) << v + T.int64(7)) * blockIdx_y - threadIdx_x_1 * (((T.int64(2) << v + T.int64(7)) + T.min(T.int64(1024), T.int64(2) << v + T.int64(7)) - T.int64(1)) // T.min(T.int64(1024), T.int64(2) << v + T.int64(7))), ((T.int64(2) << v + T.int64(7)) + T.min(T.int64(1024), T.int64(2) << v + T.int64(7)) - T.int64(1)) // T.min(T.int64(1024), T.int64(2) << v + T.int64(7)))):
                                                        if buffer_2[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y) and buffer_3[T.int64(0)] < T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300))):
                                                            if value_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)] <= value_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]:
                                                                value_buf_swap[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]
                                                                buffer_2[T.int64(0)] = buffer_2[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_buf_swap[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)]
                                                                buffer_3[T.int64(0)] = buffer_3[T.int64(0)] + T.int64(1)
                                                        else:
                                                            if buffer_2[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y):
                                                                value_buf_swap[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]
                                                                buffer_2[T.int64(0)] = buffer_2[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_buf_swap[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)]
                                                                buffer_3[T.int64(0)] = buffer_3[T.int64(0)] + T.int64(1)
                                                else:
                                                    buffer[T.int64(0)] = T.max(T.int64(0), threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300))))
                                                    buffer_1[T.int64(0)] = T.min(threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))), T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y)
                                                    while buffer[T.int64(0)] < buffer_1[T.int64(0)]:
                                                        if value_buf_swap[(blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)] <= value_buf_swap[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)]:
                                                            buffer[T.int64(0)] = (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)) + T.int64(1)
                                                        else:
                                                            buffer_1[T.int64(0)] = buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)
                                                    buffer_2[T.int64(0)] = (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]
                                                    buffer_3[T.int64(0)] = T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) - buffer_1[T.int64(0)]
                                                    for v_1 in range(T.min(T.min((blockIdx_y + T.int64(1)) * (T.int64(2) << v + T.int64(7)), T.int64(300)) - (T.int64(2) << v + T.int64(7)) * blockIdx_y - threadIdx_x_1 * (((T.int64(2) << v + T.int64(7)) + T.min(T.int64(1024), T.int64(2) << v + T.int64(7)) - T.int64(1)) // T.min(T.int64(1024), T.int64(2) << v + T.int64(7))), ((T.int64(2) << v + T.int64(7)) + T.min(T.int64(1024), T.int64(2) << v + T.int64(7)) - T.int64(1)) // T.min(T.int64(1024), T.int64(2) << v + T.int64(7)))):
                                                        if buffer_2[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y) and buffer_3[T.int64(0)] < T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300))):
                                                            if value_buf_swap[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)] <= value_buf_swap[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]:
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_buf_swap[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]
                                                                buffer_2[T.int64(0)] = buffer_2[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_buf_swap[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)]
                                                                buffer_3[T.int64(0)] = buffer_3[T.int64(0)] + T.int64(1)
                                                        else:
                                                            if buffer_2[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y):
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_buf_swap[(blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_2[T.int64(0)]) % T.int64(300)]
                                                                buffer_2[T.int64(0)] = buffer_2[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + threadIdx_x_1 * (((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) + (T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) - T.int64(1))) // T.min(T.int64(1024), T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))))) + v_1)) % T.int64(300)] = value_buf_swap[(blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_3[T.int64(0)]) % T.int64(300)]
                                                                buffer_3[T.int64(0)] = buffer_3[T.int64(0)] + T.int64(1)
                                            else:
                                                buffer = T.alloc_local((T.int64(1),), "int64")
                                                buffer_1 = T.alloc_local((T.int64(1),), "int64")
                                                buffer_2 = T.alloc_local((T.int64(1),), "int64")
                                                buffer_3 = T.alloc_local((T.int64(1),), "int64")
                                                buffer_4 = T.alloc_local((T.int64(1),), "int64")
                                                buffer_5 = T.alloc_local((T.int64(1),), "int64")
                                                if v % T.int64(2) == T.int64(0):
                                                    buffer[T.int64(0)] = T.max(T.int64(0), blockIdx_z * T.int64(4096) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300))))
                                                    buffer_1[T.int64(0)] = T.min(blockIdx_z * T.int64(4096), T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y)
                                                    while buffer[T.int64(0)] < buffer_1[T.int64(0)]:
                                                        if value_buf[(blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)] <= value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)]:
                                                            buffer[T.int64(0)] = (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)) + T.int64(1)
                                                        else:
                                                            buffer_1[T.int64(0)] = buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)
                                                    buffer_2[T.int64(0)] = T.max(T.int64(0), threadIdx_x_1 * T.int64(4) - T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)]), T.int64(4096)))
                                                    buffer_3[T.int64(0)] = T.min(threadIdx_x_1 * T.int64(4), T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]), T.int64(4096)))
                                                    while buffer_2[T.int64(0)] < buffer_3[T.int64(0)]:
                                                        if value_buf[(blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + threadIdx_x_1 * T.int64(4) - T.int64(1) - (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + threadIdx_x_1 * T.int64(4) - T.int64(1) - (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) % T.int64(300)] <= value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) % T.int64(300)]:
                                                            buffer_2[T.int64(0)] = (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)) + T.int64(1)
                                                        else:
                                                            buffer_3[T.int64(0)] = buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)
                                                    buffer_4[T.int64(0)] = (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + buffer_2[T.int64(0)]
                                                    buffer_5[T.int64(0)] = T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + threadIdx_x_1 * T.int64(4) - buffer_3[T.int64(0)]
                                                    for v_1 in range(T.min(T.min(T.min((blockIdx_y + T.int64(1)) * (T.int64(2) << v + T.int64(7)), T.int64(300)) + buffer_1[T.int64(0)] - T.min((T.int64(2) << v + T.int64(7)) // T.int64(2) + (T.int64(2) << v + T.int64(7)) * blockIdx_y, T.int64(300)) - blockIdx_z * T.int64(4096), T.int64(4096)) + T.min(T.min((T.int64(2) << v + T.int64(7)) // T.int64(2), T.int64(300) - (T.int64(2) << v + T.int64(7)) * blockIdx_y) - buffer[T.int64(0)], T.int64(4096)) - threadIdx_x_1 * T.int64(4), T.int64(4))):
                                                        if buffer_4[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]), T.int64(4096)) and buffer_5[T.int64(0)] < T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)]), T.int64(4096)):
                                                            if value_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)] <= value_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]:
                                                                value_buf_swap[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]
                                                                buffer_4[T.int64(0)] = buffer_4[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_buf_swap[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)]
                                                                buffer_5[T.int64(0)] = buffer_5[T.int64(0)] + T.int64(1)
                                                        else:
                                                            if buffer_4[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]), T.int64(4096)):
                                                                value_buf_swap[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]
                                                                buffer_4[T.int64(0)] = buffer_4[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_buf_swap[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_buf[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)]
                                                                buffer_5[T.int64(0)] = buffer_5[T.int64(0)] + T.int64(1)
                                                else:
                                                    buffer[T.int64(0)] = T.max(T.int64(0), blockIdx_z * T.int64(4096) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300))))
                                                    buffer_1[T.int64(0)] = T.min(blockIdx_z * T.int64(4096), T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y)
                                                    while buffer[T.int64(0)] < buffer_1[T.int64(0)]:
                                                        if value_buf_swap[(blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - T.int64(1) - (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)] <= value_buf_swap[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)))) % T.int64(300)]:
                                                            buffer[T.int64(0)] = (buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)) + T.int64(1)
                                                        else:
                                                            buffer_1[T.int64(0)] = buffer[T.int64(0)] + buffer_1[T.int64(0)] >> T.int64(1)
                                                    buffer_2[T.int64(0)] = T.max(T.int64(0), threadIdx_x_1 * T.int64(4) - T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)]), T.int64(4096)))
                                                    buffer_3[T.int64(0)] = T.min(threadIdx_x_1 * T.int64(4), T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]), T.int64(4096)))
                                                    while buffer_2[T.int64(0)] < buffer_3[T.int64(0)]:
                                                        if value_buf_swap[(blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + threadIdx_x_1 * T.int64(4) - T.int64(1) - (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + threadIdx_x_1 * T.int64(4) - T.int64(1) - (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) % T.int64(300)] <= value_buf_swap[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)))) % T.int64(300)]:
                                                            buffer_2[T.int64(0)] = (buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)) + T.int64(1)
                                                        else:
                                                            buffer_3[T.int64(0)] = buffer_2[T.int64(0)] + buffer_3[T.int64(0)] >> T.int64(1)
                                                    buffer_4[T.int64(0)] = (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + buffer_2[T.int64(0)]
                                                    buffer_5[T.int64(0)] = T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + threadIdx_x_1 * T.int64(4) - buffer_3[T.int64(0)]
                                                    for v_1 in range(T.min(T.min(T.min((blockIdx_y + T.int64(1)) * (T.int64(2) << v + T.int64(7)), T.int64(300)) + buffer_1[T.int64(0)] - T.min((T.int64(2) << v + T.int64(7)) // T.int64(2) + (T.int64(2) << v + T.int64(7)) * blockIdx_y, T.int64(300)) - blockIdx_z * T.int64(4096), T.int64(4096)) + T.min(T.min((T.int64(2) << v + T.int64(7)) // T.int64(2), T.int64(300) - (T.int64(2) << v + T.int64(7)) * blockIdx_y) - buffer[T.int64(0)], T.int64(4096)) - threadIdx_x_1 * T.int64(4), T.int64(4))):
                                                        if buffer_4[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]), T.int64(4096)) and buffer_5[T.int64(0)] < T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)] + T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))), T.int64(300)) - (T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) + blockIdx_z * T.int64(4096) - buffer_1[T.int64(0)]), T.int64(4096)):
                                                            if value_buf_swap[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)] <= value_buf_swap[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]:
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_buf_swap[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]
                                                                buffer_4[T.int64(0)] = buffer_4[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_buf_swap[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)]
                                                                buffer_5[T.int64(0)] = buffer_5[T.int64(0)] + T.int64(1)
                                                        else:
                                                            if buffer_4[T.int64(0)] < (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)] + T.min(T.min((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + (T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) // T.int64(2), T.int64(300)) - ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + buffer[T.int64(0)]), T.int64(4096)):
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_buf_swap[(blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_4[T.int64(0)]) % T.int64(300)]
                                                                buffer_4[T.int64(0)] = buffer_4[T.int64(0)] + T.int64(1)
                                                            else:
                                                                value_buf[(blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) // T.int64(300), (blockIdx_x * T.int64(300) + ((T.int64(2) << v + T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) * blockIdx_y + blockIdx_z * T.int64(4096) + threadIdx_x_1 * T.int64(4) + v_1)) % T.int64(300)] = value_buf_swap[(blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) // T.int64(300), (blockIdx_x * T.int64(300) + buffer_5[T.int64(0)]) % T.int64(300)]
                                                                buffer_5[T.int64(0)] = buffer_5[T.int64(0)] + T.int64(1)
                    if T.Cast("int64", T.ceil(T.log2(T.float64(300.0)))) > T.Cast("int64", T.ceil(T.log2(T.float64(128.0)))) and (T.Cast("int64", T.ceil(T.log2(T.float64(300.0)))) - T.Cast("int64", T.ceil(T.log2(T.float64(128.0))))) % T.int64(2) == T.int64(1):
                        with T.launch_thread("threadIdx.x", T.int64(1024)) as threadIdx_x_1:
                            with T.launch_thread("blockIdx.y", T.int64(1)) as blockIdx_y:
                                with T.launch_thread("blockIdx.x", b) as blockIdx_x:
                                    if blockIdx_y * T.int64(1024) + threadIdx_x_1 < T.int64(300):
                                        value_buf[(blockIdx_x * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x_1)) // T.int64(300), (blockIdx_x * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x_1)) % T.int64(300)] = value_buf_swap[(blockIdx_x * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x_1)) // T.int64(300), (blockIdx_x * T.int64(300) + (blockIdx_y * T.int64(1024) + threadIdx_x_1)) % T.int64(300)]

    @T.prim_func(s_tir=True)
    def sum(lv3: T.Buffer((b, T.int64(300)), "float32"), lv3_red: T.Buffer((b, T.int64(1)), "float32")):
        T.func_attr({"op_pattern": 3, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        lv3_red_rf_local = T.sblock_alloc_buffer((T.int64(256), b, T.int64(1)), scope="local")
        for ax0_fused in T.thread_binding(b, thread="blockIdx.x"):
            for ax1_fused_1 in T.thread_binding(T.int64(256), thread="threadIdx.x", annotations={"pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1}):
                with T.sblock("lv3_red_rf_init"):
                    vax1_fused_1, v0 = T.axis.remap("SS", [ax1_fused_1, ax0_fused])
                    T.reads()
                    T.writes(lv3_red_rf_local[vax1_fused_1, v0, T.int64(0)])
                    lv3_red_rf_local[vax1_fused_1, v0, T.int64(0)] = T.float32(0.0)
                for ax1_fused_0, u in T.grid(T.int64(2), 1):
                    with T.sblock("lv3_red_rf_update"):
                        vax1_fused_1, v0, vax1_fused_0 = T.axis.remap("SSR", [ax1_fused_1, ax0_fused, ax1_fused_0])
                        T.where(ax1_fused_0 * T.int64(256) + ax1_fused_1 < T.int64(300))
                        T.reads(lv3_red_rf_local[vax1_fused_1, v0, T.int64(0)], lv3[v0, vax1_fused_0 * T.int64(256) + vax1_fused_1])
                        T.writes(lv3_red_rf_local[vax1_fused_1, v0, T.int64(0)])
                        lv3_red_rf_local[vax1_fused_1, v0, T.int64(0)] = lv3_red_rf_local[vax1_fused_1, v0, T.int64(0)] + lv3[v0, vax1_fused_0 * T.int64(256) + vax1_fused_1]
            for ax1_fused in range(T.int64(1)):
                for ax0 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                    with T.sblock("lv3_red"):
                        vax1_fused_1, v0 = T.axis.remap("RS", [ax0, ax0_fused])
                        T.reads(lv3_red_rf_local[vax1_fused_1, v0, T.int64(0)])
                        T.writes(lv3_red[v0, T.int64(0)])
                        with T.init():
                            lv3_red[v0, T.int64(0)] = T.float32(0.0)
                        lv3_red[v0, T.int64(0)] = lv3_red[v0, T.int64(0)] + lv3_red_rf_local[vax1_fused_1, v0, T.int64(0)]

    @R.function
    def argsort(probs: R.Tensor((b, 300), dtype="float32")) -> R.Tuple(R.Tensor((b, 300), dtype="float32"), R.Tensor((b, 300), dtype="int32")):
        R.func_attr({"num_input": 1, "relax.force_pure": True})
        cls = Module
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (2,), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        R.call_packed("vm.builtin.check_tensor_info", probs, 2, R.dtype("float32"), R.str("ErrorContext(fn=argsort, loc=param[0], param=probs, annotation=R.Tensor((b, 300), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", probs, shape_heap, 2, 1, 0, 0, 300, R.str("ErrorContext(fn=argsort, loc=param[0], param=probs, annotation=R.Tensor((b, 300), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        cls.shape_func(shape_heap)
        gv: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 1, ty_args=(R.Shape(ndim=1),))
        storage: R.Any = R.vm.alloc_storage(gv, 0, R.dtype("uint8"), R.str("global"))
        gv1: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 300, ty_args=(R.Shape(ndim=2),))
        alloc: R.Tensor(dtype="int32", ndim=2) = R.vm.alloc_tensor(storage, 0, gv1, R.dtype("int32"), 0)
        R.vm.kill_object(storage)
        cls.argsort1(probs, alloc)
        gv2: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 1, ty_args=(R.Shape(ndim=1),))
        storage1: R.Any = R.vm.alloc_storage(gv2, 0, R.dtype("uint8"), R.str("global"))
        gv3: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 300, ty_args=(R.Shape(ndim=2),))
        alloc1: R.Tensor(dtype="float32", ndim=2) = R.vm.alloc_tensor(storage1, 0, gv3, R.dtype("float32"), 0)
        R.vm.kill_object(storage1)
        cls.sort(probs, alloc1)
        gv1_1: R.Tuple(R.Tensor(dtype="float32", ndim=2), R.Tensor(dtype="int32", ndim=2)) = (alloc1, alloc)
        R.vm.kill_object(alloc)
        R.vm.kill_object(alloc1)
        gv4: R.Tensor(dtype="float32", ndim=2) = gv1_1[0]
        R.call_packed("vm.builtin.match_shape", gv4, shape_heap, 2, 3, 0, 0, 300, R.str("ErrorContext(fn=argsort, loc=return, annotation=T.Tuple(R.Tensor((b, T.int64(300)), dtype=\"float32\"), R.Tensor((b, T.int64(300)), dtype=\"int32\"))) "), ty_args=(R.Tuple,))
        gv5: R.Tensor(dtype="int32", ndim=2) = gv1_1[1]
        R.call_packed("vm.builtin.match_shape", gv5, shape_heap, 2, 3, 0, 0, 300, R.str("ErrorContext(fn=argsort, loc=return, annotation=T.Tuple(R.Tensor((b, T.int64(300)), dtype=\"float32\"), R.Tensor((b, T.int64(300)), dtype=\"int32\"))) "), ty_args=(R.Tuple,))
        return gv1_1

    @R.function
    def cums(x: R.Tensor((b, 1300), dtype="int32")) -> R.Tensor((b, 1300), dtype="int32"):
        R.func_attr({"num_input": 1, "relax.force_pure": True})
        cls = Module
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (2,), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        R.call_packed("vm.builtin.check_tensor_info", x, 2, R.dtype("int32"), R.str("ErrorContext(fn=cums, loc=param[0], param=x, annotation=R.Tensor((b, 1300), dtype=\"int32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", x, shape_heap, 2, 1, 0, 0, 1300, R.str("ErrorContext(fn=cums, loc=param[0], param=x, annotation=R.Tensor((b, 1300), dtype=\"int32\")) "), ty_args=(R.Tuple,))
        cls.shape_func1(shape_heap)
        gv6: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 1300, ty_args=(R.Shape(ndim=2),))
        lv: R.Tensor((b, 1300), dtype="int32") = R.call_packed("vm.builtin.reshape", x, gv6, ty_args=(R.Tensor((b, 1300), dtype="int32"),))
        gv7: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 1, ty_args=(R.Shape(ndim=1),))
        storage: R.Any = R.vm.alloc_storage(gv7, 0, R.dtype("uint8"), R.str("global"))
        gv8: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 1300, ty_args=(R.Shape(ndim=2),))
        alloc2: R.Tensor(dtype="int32", ndim=2) = R.vm.alloc_tensor(storage, 0, gv8, R.dtype("int32"), 0)
        R.vm.kill_object(storage)
        cls.gpu_2d_continuous_cumsum(lv, alloc2)
        R.vm.kill_object(lv)
        gv9: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 1300, ty_args=(R.Shape(ndim=2),))
        gv5: R.Tensor((b, 1300), dtype="int32") = R.call_packed("vm.builtin.reshape", alloc2, gv9, ty_args=(R.Tensor((b, 1300), dtype="int32"),))
        R.vm.kill_object(alloc2)
        return gv5

    @R.function
    def renorm(prob: R.Tensor((b, 300), dtype="float32"), sorted_prob: R.Tensor((b, 300), dtype="float32"), p: R.Tensor((b, 1), dtype="float32"), k: R.Tensor((b, 1), dtype="int32")) -> R.Tensor((b, 300), dtype="float32"):
        R.func_attr({"num_input": 4, "relax.force_pure": True})
        cls = Module
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (4,), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        R.call_packed("vm.builtin.check_tensor_info", prob, 2, R.dtype("float32"), R.str("ErrorContext(fn=renorm, loc=param[0], param=prob, annotation=R.Tensor((b, 300), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", sorted_prob, 2, R.dtype("float32"), R.str("ErrorContext(fn=renorm, loc=param[1], param=sorted_prob, annotation=R.Tensor((b, 300), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", p, 2, R.dtype("float32"), R.str("ErrorContext(fn=renorm, loc=param[2], param=p, annotation=R.Tensor((b, 1), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", k, 2, R.dtype("int32"), R.str("ErrorContext(fn=renorm, loc=param[3], param=k, annotation=R.Tensor((b, 1), dtype=\"int32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", prob, shape_heap, 2, 1, 0, 0, 300, R.str("ErrorContext(fn=renorm, loc=param[0], param=prob, annotation=R.Tensor((b, 300), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", sorted_prob, shape_heap, 2, 3, 0, 0, 300, R.str("ErrorContext(fn=renorm, loc=param[1], param=sorted_prob, annotation=R.Tensor((b, 300), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", p, shape_heap, 2, 3, 0, 0, 1, R.str("ErrorContext(fn=renorm, loc=param[2], param=p, annotation=R.Tensor((b, 1), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", k, shape_heap, 2, 3, 0, 0, 1, R.str("ErrorContext(fn=renorm, loc=param[3], param=k, annotation=R.Tensor((b, 1), dtype=\"int32\")) "), ty_args=(R.Tuple,))
        cls.shape_func2(shape_heap)
        gv10: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 300, ty_args=(R.Shape(ndim=2),))
        lv2: R.Tensor((b, 300), dtype="float32") = R.call_packed("vm.builtin.reshape", sorted_prob, gv10, ty_args=(R.Tensor((b, 300), dtype="float32"),))
        gv11: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 1, ty_args=(R.Shape(ndim=1),))
        storage: R.Any = R.vm.alloc_storage(gv11, 0, R.dtype("uint8"), R.str("global"))
        gv12: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 300, ty_args=(R.Shape(ndim=2),))
        alloc3: R.Tensor(dtype="float32", ndim=2) = R.vm.alloc_tensor(storage, 0, gv12, R.dtype("float32"), 0)
        cls.gpu_2d_continuous_cumsum1(lv2, alloc3)
        R.vm.kill_object(lv2)
        gv13: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 300, ty_args=(R.Shape(ndim=2),))
        cumsum1: R.Tensor((b, 300), dtype="float32") = R.call_packed("vm.builtin.reshape", alloc3, gv13, ty_args=(R.Tensor((b, 300), dtype="float32"),))
        R.vm.kill_object(alloc3)
        gv14: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 2, ty_args=(R.Shape(ndim=1),))
        storage1: R.Any = R.vm.alloc_storage(gv14, 0, R.dtype("uint8"), R.str("global"))
        gv15: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 1, ty_args=(R.Shape(ndim=2),))
        alloc4: R.Tensor(dtype="float32", ndim=2) = R.vm.alloc_tensor(storage1, 0, gv15, R.dtype("float32"), 0)
        cls.get_renorm_cutoff(sorted_prob, cumsum1, p, k, alloc4)
        R.vm.kill_object(cumsum1)
        gv16: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 300, ty_args=(R.Shape(ndim=2),))
        alloc5: R.Tensor(dtype="float32", ndim=2) = R.vm.alloc_tensor(storage, 0, gv16, R.dtype("float32"), 0)
        R.vm.kill_object(storage)
        cls.filter_with_top_p_top_k(prob, alloc4, alloc5)
        R.vm.kill_object(alloc4)
        gv17: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 1, ty_args=(R.Shape(ndim=2),))
        alloc6: R.Tensor(dtype="float32", ndim=2) = R.vm.alloc_tensor(storage1, 0, gv17, R.dtype("float32"), 0)
        R.vm.kill_object(storage1)
        cls.sum(alloc5, alloc6)
        gv18: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 3, ty_args=(R.Shape(ndim=1),))
        storage_1: R.Any = R.vm.alloc_storage(gv18, 0, R.dtype("uint8"), R.str("global"))
        gv19: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 300, ty_args=(R.Shape(ndim=2),))
        alloc7: R.Tensor(dtype="float32", ndim=2) = R.vm.alloc_tensor(storage_1, 0, gv19, R.dtype("float32"), 0)
        R.vm.kill_object(storage_1)
        cls.divide(alloc5, alloc6, alloc7)
        R.vm.kill_object(alloc5)
        R.vm.kill_object(alloc6)
        R.call_packed("vm.builtin.match_shape", alloc7, shape_heap, 2, 3, 0, 0, 300, R.str("ErrorContext(fn=renorm, loc=return, annotation=R.Tensor((b, 300), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        return alloc7

    @R.function
    def sample(prob: R.Tensor((b, 300), dtype="float32"), u: R.Tensor((m, 1), dtype="float32"), idx: R.Tensor((m, 1), dtype="int64")) -> R.Tensor((m, 1), dtype="int32"):
        R.func_attr({"num_input": 3, "relax.force_pure": True})
        cls = Module
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (3,), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        R.call_packed("vm.builtin.check_tensor_info", prob, 2, R.dtype("float32"), R.str("ErrorContext(fn=sample, loc=param[0], param=prob, annotation=R.Tensor((b, 300), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", u, 2, R.dtype("float32"), R.str("ErrorContext(fn=sample, loc=param[1], param=u, annotation=R.Tensor((m, 1), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", idx, 2, R.dtype("int64"), R.str("ErrorContext(fn=sample, loc=param[2], param=idx, annotation=R.Tensor((m, 1), dtype=\"int64\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", prob, shape_heap, 2, 1, 0, 0, 300, R.str("ErrorContext(fn=sample, loc=param[0], param=prob, annotation=R.Tensor((b, 300), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", u, shape_heap, 2, 1, 1, 0, 1, R.str("ErrorContext(fn=sample, loc=param[1], param=u, annotation=R.Tensor((m, 1), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", idx, shape_heap, 2, 3, 1, 0, 1, R.str("ErrorContext(fn=sample, loc=param[2], param=idx, annotation=R.Tensor((m, 1), dtype=\"int64\")) "), ty_args=(R.Tuple,))
        cls.shape_func3(shape_heap)
        gv20: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 2, ty_args=(R.Shape(ndim=1),))
        storage: R.Any = R.vm.alloc_storage(gv20, 0, R.dtype("uint8"), R.str("global"))
        gv21: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 1, 0, 1, ty_args=(R.Shape(ndim=2),))
        alloc8: R.Tensor(dtype="int32", ndim=2) = R.vm.alloc_tensor(storage, 0, gv21, R.dtype("int32"), 0)
        R.vm.kill_object(storage)
        cls.parallel_sampling_from_prob(prob, u, idx, alloc8)
        R.call_packed("vm.builtin.match_shape", alloc8, shape_heap, 2, 3, 1, 0, 1, R.str("ErrorContext(fn=sample, loc=return, annotation=R.Tensor((m, 1), dtype=\"int32\")) "), ty_args=(R.Tuple,))
        return alloc8

    @R.function
    def topp(prob: R.Tensor((b, 300), dtype="float32"), idx: R.Tensor((b, 300), dtype="int32"), p: R.Tensor((b, 1), dtype="float32"), k: R.Tensor((b, 1), dtype="int32"), u: R.Tensor((m, 1), dtype="float32"), si: R.Tensor((m, 1), dtype="int64")) -> R.Tensor((m, 1), dtype="int32"):
        R.func_attr({"num_input": 6, "relax.force_pure": True})
        cls = Module
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (5,), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        R.call_packed("vm.builtin.check_tensor_info", prob, 2, R.dtype("float32"), R.str("ErrorContext(fn=topp, loc=param[0], param=prob, annotation=R.Tensor((b, 300), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", idx, 2, R.dtype("int32"), R.str("ErrorContext(fn=topp, loc=param[1], param=idx, annotation=R.Tensor((b, 300), dtype=\"int32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", p, 2, R.dtype("float32"), R.str("ErrorContext(fn=topp, loc=param[2], param=p, annotation=R.Tensor((b, 1), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", k, 2, R.dtype("int32"), R.str("ErrorContext(fn=topp, loc=param[3], param=k, annotation=R.Tensor((b, 1), dtype=\"int32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", u, 2, R.dtype("float32"), R.str("ErrorContext(fn=topp, loc=param[4], param=u, annotation=R.Tensor((m, 1), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", si, 2, R.dtype("int64"), R.str("ErrorContext(fn=topp, loc=param[5], param=si, annotation=R.Tensor((m, 1), dtype=\"int64\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", prob, shape_heap, 2, 1, 0, 0, 300, R.str("ErrorContext(fn=topp, loc=param[0], param=prob, annotation=R.Tensor((b, 300), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", idx, shape_heap, 2, 3, 0, 0, 300, R.str("ErrorContext(fn=topp, loc=param[1], param=idx, annotation=R.Tensor((b, 300), dtype=\"int32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", p, shape_heap, 2, 3, 0, 0, 1, R.str("ErrorContext(fn=topp, loc=param[2], param=p, annotation=R.Tensor((b, 1), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", k, shape_heap, 2, 3, 0, 0, 1, R.str("ErrorContext(fn=topp, loc=param[3], param=k, annotation=R.Tensor((b, 1), dtype=\"int32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", u, shape_heap, 2, 1, 1, 0, 1, R.str("ErrorContext(fn=topp, loc=param[4], param=u, annotation=R.Tensor((m, 1), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", si, shape_heap, 2, 3, 1, 0, 1, R.str("ErrorContext(fn=topp, loc=param[5], param=si, annotation=R.Tensor((m, 1), dtype=\"int64\")) "), ty_args=(R.Tuple,))
        cls.shape_func6(shape_heap)
        gv32: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 300, ty_args=(R.Shape(ndim=2),))
        lv4: R.Tensor((b, 300), dtype="float32") = R.call_packed("vm.builtin.reshape", prob, gv32, ty_args=(R.Tensor((b, 300), dtype="float32"),))
        gv33: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 2, ty_args=(R.Shape(ndim=1),))
        storage3: R.Any = R.vm.alloc_storage(gv33, 0, R.dtype("uint8"), R.str("global"))
        gv34: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 300, ty_args=(R.Shape(ndim=2),))
        alloc13: R.Tensor(dtype="float32", ndim=2) = R.vm.alloc_tensor(storage3, 0, gv34, R.dtype("float32"), 0)
        R.vm.kill_object(storage3)
        cls.gpu_2d_continuous_cumsum1(lv4, alloc13)
        R.vm.kill_object(lv4)
        gv35: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 300, ty_args=(R.Shape(ndim=2),))
        cumsum: R.Tensor((b, 300), dtype="float32") = R.call_packed("vm.builtin.reshape", alloc13, gv35, ty_args=(R.Tensor((b, 300), dtype="float32"),))
        R.vm.kill_object(alloc13)
        gv36: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 3, ty_args=(R.Shape(ndim=1),))
        storage4: R.Any = R.vm.alloc_storage(gv36, 0, R.dtype("uint8"), R.str("global"))
        gv37: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 1, ty_args=(R.Shape(ndim=2),))
        alloc14: R.Tensor(dtype="float32", ndim=2) = R.vm.alloc_tensor(storage4, 0, gv37, R.dtype("float32"), 0)
        R.vm.kill_object(storage4)
        cls.get_renorm_prob(cumsum, p, k, alloc14)
        gv38: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 4, ty_args=(R.Shape(ndim=1),))
        storage: R.Any = R.vm.alloc_storage(gv38, 0, R.dtype("uint8"), R.str("global"))
        gv39: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 1, 0, 1, ty_args=(R.Shape(ndim=2),))
        alloc15: R.Tensor(dtype="int32", ndim=2) = R.vm.alloc_tensor(storage, 0, gv39, R.dtype("int32"), 0)
        R.vm.kill_object(storage)
        cls.get_index_from_sorted(cumsum, idx, alloc14, u, si, alloc15)
        R.vm.kill_object(cumsum)
        R.vm.kill_object(alloc14)
        R.call_packed("vm.builtin.match_shape", alloc15, shape_heap, 2, 3, 1, 0, 1, R.str("ErrorContext(fn=topp, loc=return, annotation=R.Tensor((m, 1), dtype=\"int32\")) "), ty_args=(R.Tuple,))
        return alloc15
