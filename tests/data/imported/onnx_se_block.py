metadata = tvm.ir.load_json("""{
  \"root_index\": 39,
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
        \"value\": 6
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 6
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        4,
        5,
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAABAAAAAIgAQAEAAAAAAAAAAQAAAAAAAAAAwAAAAAAAAADAAAAAAAAAEACAAAAAAAAFP9NPMxwWLyXKIM9TN4rPAFpW739GxQ9lIcFPlL2wT3+H5C9RJQBvhBLf72+aoc7SRVuvvA7s7yeKf+95veVvbHtXr16jgG9l5ooPbqB1T1Yl1K8Be0LPlw7iL2B+g893Ae5PZ4HGjzGRJi99cS8vQh8O71EYrQ8EsXOvUxbq7zob4K8xYddPUjZrzyIjxE9c+eFveZbVLzljqA9Z+0YPqbtAL6aBhs+UdEJPjgDoD1epNg8MZUAvSNNFT7\\/ukg+x3w4PqiqBj4NYhI9snb3vV2G6bkxcoY9n+0Dvo3XIT16EjA9r4yOPeKB8r1GhIe9jcMyvU+T7718HDI+AiBLvfe+Bj2Y0tO8yyUiPnk0Bz7rtYE9sKNhvhF9qjvZBIw9gJzNPUAYfb3vkjo+TjYHvh97h72Mf789\\/r2gO4ULTT5Xb5o8m62BvWemGr17d9+9ntUCvrgbgT2nC249FZAEPhOLmr3w9iw+km3rvCs4IT7jRDG9gqCWvcqfzDzZPdM9KOaDPCbVb71FVwm+A4QPvh7mTT13sco9E5eGvKkH3L2NzLI9whwDvk4Jkr1xXn49GmpmvspBHj12PW69OgszPAsP+Lt2kqU8miqOPWpQm70xghE+OrSUPeTLrD1skO49TkyhPQjerD2EtPc7BRoSvgVCXby7mJ29UrARvnu50zy74Gi9aefSvUyb1b0k49s8e+kSPW5rBz7hYba6aV7VPYiXDz7Ojes9BjVyvmqi+z29Gws9ppMtPQQOGD3\\/xhw9\"
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
      \"type\": \"int\",
      \"data\": 2
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 16
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
      \"type\": \"int\",
      \"data\": 1
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 19
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 19
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        17,
        18,
        20,
        21
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 22,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 23,
        \"values\": 22
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 24,
        \"dtype\": 12,
        \"vdevice\": 1,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAABAAAAAIgAQACAAAAAAAAAAQAAAAAAAAAAQAAAAAAAAABAAAAAAAAACAAAAAAAAAAAtUCPcoCE706ukK+JnIyvLKapL2sN909uo7svBrECDw=\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 25,
        \"value\": 26
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
        \"value\": 16
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 19
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 19
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        28,
        29,
        30,
        31
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 32,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 33,
        \"values\": 32
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 34,
        \"dtype\": 12,
        \"vdevice\": 1,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAABAAAAAIgAQAEAAAAAAAAAAIAAAAAAAAAAQAAAAAAAAABAAAAAAAAACAAAAAAAAAA0v+tvaYmUb2JKpe6OBoYvj1S9jztyS283tXyvTyUdb4=\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 35,
        \"value\": 36
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        15,
        27,
        37
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        38
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
    def main(x: R.Tensor((N, 4, 6, 6), dtype="float32")) -> R.Tensor((N, 4, 6, 6), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 4, 6, 6), dtype="float32") = R.nn.conv2d(x, metadata["ir.GenericConst"][0], strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv1: R.Tensor((N, 4, 1, 1), dtype="float32") = R.mean(lv, axis=[2, 3], keepdims=True)
            lv2: R.Tensor((N, 2, 1, 1), dtype="float32") = R.nn.conv2d(lv1, metadata["ir.GenericConst"][1], strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv3: R.Tensor((N, 2, 1, 1), dtype="float32") = R.nn.relu(lv2)
            lv4: R.Tensor((N, 4, 1, 1), dtype="float32") = R.nn.conv2d(lv3, metadata["ir.GenericConst"][2], strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv5: R.Tensor((N, 4, 1, 1), dtype="float32") = R.multiply(R.const(0.20000000298023224, "float32"), lv4)
            lv6: R.Tensor((N, 4, 1, 1), dtype="float32") = R.add(lv5, R.const(0.5, "float32"))
            lv7: R.Tensor((N, 4, 1, 1), dtype="float32") = R.clip(lv6, 0, 1)
            lv8: R.Tensor((N, 4, 6, 6), dtype="float32") = R.multiply(lv, lv7)
            gv: R.Tensor((N, 4, 6, 6), dtype="float32") = R.add(lv8, lv)
            R.output(gv)
        return gv