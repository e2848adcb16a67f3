metadata = tvm.ir.load_json("""{
  \"root_index\": 78,
  \"nodes\": [
    {
      \"type\": \"ffi.String\",
      \"data\": \"ir.GenericConst\"
    },
    {
      \"type\": \"None\"
    },
    {
      \"type\": \"ir.PrimType\",
      \"data\": {
        \"span\": 1,
        \"dtype\": \"int64\"
      }
    },
    {
      \"type\": \"int\",
      \"data\": 4
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 3
      }
    },
    {
      \"type\": \"int\",
      \"data\": 3
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 5
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 5
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 5
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        4,
        6,
        7,
        8
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 9,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 10,
        \"values\": 9
      }
    },
    {
      \"type\": \"ir.PrimType\",
      \"data\": {
        \"span\": 1,
        \"dtype\": \"float32\"
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 11,
        \"dtype\": 12,
        \"vdevice\": 1,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAABAAAAAIgAQAEAAAAAAAAAAMAAAAAAAAAAwAAAAAAAAADAAAAAAAAALABAAAAAAAAkjehvTuvbT2LKKC8TcJnPZ4KPbrj3WW9G7CxvSj7nD69cf27jYFOvlrVhL3P3Io9r81MvUhPCz6KSs09dJd5vG5rQb2DyM29aFqPvZDZFr4NqfY9ROMiPuigAL44AvK9ehg1vrhlxb1hC5++UfDpvdzNBD5klg290wSvPR9ISL3WSjQ+CjOjPNh3HL0ir4I+V+cEvUYb+r2ZZ6U8YoJ+ux5i2j0pwLy9WM6kPZSkrj0Lvoi9wLqFPFQjqr3zNXA+MTWQvUyUOb2cSNq9csUNvVkJGrpDPp09Kg56vZ8vmLxrDBG+tXOpvewYjT4iP9U9IAmgvRHzCL6jzMe9OScOu5CXYzvvcZi9x74Dvs2mET6nAjk9TmwZvQLEtLxL5Vi9VlOWvhaAPTxcP9u9iVnNvTEgg72z+ZU9h7nvvdTeEr6tCoM9qH6aPb5jxL2sW2Y9wefuvI3R9jxRHwG+qJOqPWxt9j38eII9MLJkPfcjwb4FgtU8KMImu1vrcLxzJIG9gmu1O6TNKD1jGNi8D8c9vYTa+z0SYeK9zfnSPUPYkDzIuKS9nY3tvClqvL3TQIo9\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 13,
        \"value\": 14
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 3
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        16
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 17,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 18,
        \"values\": 17
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 19,
        \"dtype\": 12,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAEAAAAAAAAABAAAAAAAAAAJYAOPVAQZL38u+G9cyr3PA==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 20,
        \"value\": 21
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 3
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        23
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 24,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 25,
        \"values\": 24
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 26,
        \"dtype\": 12,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAEAAAAAAAAABAAAAAAAAAAlBLEPW2COrxwWys9TgUavQ==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 27,
        \"value\": 28
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 3
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        30
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 31,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 32,
        \"values\": 31
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 33,
        \"dtype\": 12,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAEAAAAAAAAABAAAAAAAAAAKWndO3Se7rwb4fA8yJkavg==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 34,
        \"value\": 35
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 3
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        37
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 38,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 39,
        \"values\": 38
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 40,
        \"dtype\": 12,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAEAAAAAAAAABAAAAAAAAAAI+6DPVZcvLzI4hI9GmQLvQ==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 41,
        \"value\": 42
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 3
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        44
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 45,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 46,
        \"values\": 45
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 47,
        \"dtype\": 12,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAEAAAAAAAAABAAAAAAAAAAAACAPwAAgD8AAIA\\/AACAPw==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 48,
        \"value\": 49
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 3
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 3
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 5
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 5
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        51,
        52,
        53,
        54
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 55,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 56,
        \"values\": 55
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 57,
        \"dtype\": 12,
        \"vdevice\": 1,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAABAAAAAIgAQAEAAAAAAAAAAQAAAAAAAAAAwAAAAAAAAADAAAAAAAAAEACAAAAAAAATjgDPS6p273wifM9ZnEuvgvW1L3CDsE8iMsVPlDX4zwsFsu84u0RvqCxnLwXRAK7Ph0tPo\\/Sfj1BlBy+zIpPPsrLIb0EHbS9lwUXPigKo7v0fBa9vzqzPIEIrT1tb8s9G9IMvv6kTD7R6sE9HVIbvVupp70pdMa9qyRKPLe2hL1tpZy9GCWmPahTFT3MnSG9uF+WPQMFDD4hJ+C9vRt3vYgMwT0xPZM9Mra5PFkQ7j2j3d69tnYXvvF1sb24xkg84AmjvYeQR70Wrse9tiB+vcrHzb2ggxY9L8uiPWjKRL3Kyqm8rv1tvbqZWT3P6BE83j0jPkla4L0kexQ939s1PeSiE739A289Ak4Tvib3WD7kbAm+ZGC8PR6b5b1rs+s9e5odvbHHgTz8y647K27hPbK0A71465e++KibvUR\\/ljxwajS9yaidPWDwzz39G3K8KYoYvg+9DT4yz9097hj1vITjVz4+5g690+HovQ9if7yHvdw9j\\/2\\/vTLORz7Lm7e9N3fDPQUDXz03aHy8DEvdPVOUGb7uAws+Ca7Qu3UuXr1Mbpk9PBHZPXOnnT3Lv0w+LFXdPVtuAz7WIF29T4cuPAGZZj0Rjei6fhn3PFOILj2y5qw93HkmvBtHD72Yo6m9daC2vTYe8D3iegq8jSqhPZ3ZBL7qd0a+mNrWvUfU6j0Fvto9xgAIPdJIpL2bTla85uzzvBRNDb2PT4C+DbSvvbm8m7w\\/SBs+Q66DPHJzDz4pQyG9owDPvICmx761xz09\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 58,
        \"value\": 59
      }
    },
    {
      \"type\": \"int\",
      \"data\": 5
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 61
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 3
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        62,
        63
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 64,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 65,
        \"values\": 64
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 66,
        \"dtype\": 12,
        \"vdevice\": 1,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAFAAAAAAAAAAQAAAAAAAAAUAAAAAAAAAAjF2A945s0Pp1gR70eQxo8\\/H2Qvb\\/l8L1lC5K9uE8Nvf\\/LCj5B52c5UeehveBzaDwFPLI8CX6KvV4i6j3vXUG+ju+uvJ40iD01Dgm+M\\/gTPQ==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 67,
        \"value\": 68
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 61
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        70
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 71,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 72,
        \"values\": 71
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 73,
        \"dtype\": 12,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAFAAAAAAAAABQAAAAAAAAAamQEPuHSOT2HEi2+ZCKVvTBg\\/D0=\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 74,
        \"value\": 75
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        15,
        22,
        29,
        36,
        43,
        50,
        60,
        69,
        76
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        77
      ]
    }
  ],
  \"metadata\": {
    \"tvm_version\": \"0.27.0.post1\"
  }
}""")
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

N = TypeVar("N")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, 3, 8, 8), dtype="float32")) -> R.Tensor((N, 5), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 4, 8, 8), dtype="float32") = R.nn.conv2d(x, metadata["ir.GenericConst"][0], strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv1: R.Tensor((1, 4, 1, 1), dtype="float32") = R.reshape(metadata["ir.GenericConst"][1], R.shape([1, 4, 1, 1]))
            lv2: R.Tensor((N, 4, 8, 8), dtype="float32") = R.add(lv, lv1)
            lv3: R.Tuple(R.Tensor((N, 4, 8, 8), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = R.nn.batch_norm(lv2, metadata["ir.GenericConst"][2], metadata["ir.GenericConst"][3], metadata["ir.GenericConst"][4], metadata["ir.GenericConst"][5], axis=1, epsilon=1.0000000000000001e-05, center=True, scale=True, momentum=0.90000000000000002, training=False)
            lv4: R.Tensor((N, 4, 8, 8), dtype="float32") = lv3[0]
            lv5: R.Tensor((4,), dtype="float32") = lv3[1]
            lv6: R.Tensor((4,), dtype="float32") = lv3[2]
            lv7: R.Tensor((N, 4, 8, 8), dtype="float32") = R.nn.relu(lv4)
            lv8: R.Tensor((N, 4, 4, 4), dtype="float32") = R.nn.max_pool2d(lv7, pool_size=[2, 2], strides=[2, 2], dilation=[1, 1], padding=[0, 0, 0, 0], ceil_mode=False, count_include_pad=False, layout="NCHW", out_layout="NCHW")
            lv9: R.Tensor((N, 4, 4, 4), dtype="float32") = R.nn.conv2d(lv8, metadata["ir.GenericConst"][6], strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv10: R.Tensor((N, 4, 4, 4), dtype="float32") = R.add(lv9, lv8)
            lv11: R.Tensor((N, 4, 1, 1), dtype="float32") = R.mean(lv10, axis=[2, 3], keepdims=True)
            lv12: R.Tensor((N, 4), dtype="float32") = R.reshape(lv11, R.shape([N, 4]))
            lv13: R.Tensor((4, 5), dtype="float32") = R.permute_dims(metadata["ir.GenericConst"][7], axes=[1, 0])
            lv14: R.Tensor((N, 5), dtype="float32") = R.matmul(lv12, lv13, out_dtype=None)
            gv: R.Tensor((N, 5), dtype="float32") = R.add(lv14, metadata["ir.GenericConst"][8])
            R.output(gv)
        return gv