metadata = tvm.ir.load_json("""{
  \"root_index\": 37,
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
      \"data\": 8
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
      \"type\": \"ffi.Array\",
      \"data\": [
        4,
        5
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 6,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 7,
        \"values\": 6
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
        \"shape\": 8,
        \"dtype\": 9,
        \"vdevice\": 1,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAgAAAAAAAAAAAEAAAAAAABqJVI95cfzvGkXWb03dcG81AE6PhUwo7vB6g08uUYYvgGwKD7L5rs9HYLaPck2nDscu7s9mPAXPYkpez1aWnm8F+0Wvpm10j3OI0a+Xo7EvHmLp7zok9W9nyJ7PS8cpLz38DK9W+1UPe80Q71HOw4+vPQPPWtJQr29F0e+9+kFvjyV3j3E0aW7oe\\/nvNtEKD7hVwO+rOJvvWmSQb3sKXA9W+SHvYZBe70HXiS+6l6VPesYpT25H0O9386FPPFdBL4yQUG9KBoNPplhXjzLlGw+kjehvTuvbT2LKKC8TcJnPZ4KPbrj3WW9G7CxvSj7nD69cf27jYFOvlrVhL3P3Io9\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 10,
        \"value\": 11
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
      \"data\": 4
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 14
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        13,
        15
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 16,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 17,
        \"values\": 16
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 18,
        \"dtype\": 9,
        \"vdevice\": 1,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAQAAAAAAAAAgAAAAAAAAACvzUy9SE8LPopKzT10l3m8bmtBvYPIzb1oWo+9kNkWvg2p9j1E4yI+6KAAvjgC8r16GDW+uGXFvWELn75R8Om93M0EPmSWDb3TBK89H0hIvdZKND4KM6M82HccvSKvgj5X5wS9Rhv6vZlnpTxign67HmLaPSnAvL1YzqQ9lKSuPQ==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 19,
        \"value\": 20
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
        22
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 23,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 24,
        \"values\": 23
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 25,
        \"dtype\": 9,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAIAAAAAAAAACAAAAAAAAAAC76IvcC6hTxUI6q98zVwPjE1kL1MlDm9nEjavXLFDb0=\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 26,
        \"value\": 27
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 14
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        29
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 30,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 31,
        \"values\": 30
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 32,
        \"dtype\": 9,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAEAAAAAAAAABAAAAAAAAAAWQkaukM+nT0qDnq9ny+YvA==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 33,
        \"value\": 34
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        12,
        21,
        28,
        35
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        36
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

B = TypeVar("B")
S = TypeVar("S")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((B, S, 8), dtype="float32")) -> R.Tensor((B, S, S), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((B, S, 8), dtype="float32") = R.matmul(x, metadata["ir.GenericConst"][0], out_dtype=None)
            lv1: R.Tensor((B, S, 4), dtype="float32") = R.matmul(x, metadata["ir.GenericConst"][1], out_dtype=None)
            lv2: R.Tensor((B, S, 8), dtype="float32") = R.add(lv, metadata["ir.GenericConst"][2])
            lv3: R.Tuple(R.Tensor((B, S, 4), dtype="float32"), R.Tensor((B, S, 4), dtype="float32")) = R.split(lv2, indices_or_sections=2, axis=-1)
            lv4: R.Tensor((B, S, 4), dtype="float32") = lv3[0]
            lv5: R.Tensor((B, S, 4), dtype="float32") = lv3[1]
            lv6: R.Tensor((B, S, 4), dtype="float32") = R.add(lv1, metadata["ir.GenericConst"][3])
            lv7: R.Tensor((B, 4, S), dtype="float32") = R.permute_dims(lv6, axes=[0, 2, 1])
            lv8: R.Tensor((B, S, S), dtype="float32") = R.matmul(lv4, lv7, out_dtype=None)
            lv9: R.Tensor((B, S, S), dtype="float32") = R.matmul(lv5, lv7, out_dtype=None)
            lv10: R.Tensor((B, S, S), dtype="float32") = R.add(lv8, lv9)
            gv: R.Tensor((B, S, S), dtype="float32") = R.nn.softmax(lv10, axis=-1)
            R.output(gv)
        return gv