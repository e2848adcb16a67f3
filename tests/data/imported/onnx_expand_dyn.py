metadata = tvm.ir.load_json("""{
  \"root_index\": 15,
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
      \"data\": 1
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
        \"value\": 5
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        4,
        6
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 7,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 8,
        \"values\": 7
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
        \"shape\": 9,
        \"dtype\": 10,
        \"vdevice\": 1,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQABAAAAAAAAAAQAAAAAAAAAEAAAAAAAAABvXOM86z6cPUVCrjzRWqA9\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 11,
        \"value\": 12
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        13
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        14
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
    def main(x: R.Tensor((N, 4), dtype="float32")) -> R.Tensor((N, 4), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 4), dtype="float32") = R.broadcast_to(metadata["ir.GenericConst"][0], R.shape([N, 4]))
            lv1: R.Tensor((N, 4), dtype="float32") = R.multiply(x, lv)
            lv2: R.Tensor((N, 4), dtype="float32") = R.erf(lv1)
            lv3: R.Tensor((N, 4), dtype="float32") = R.maximum(lv2, R.const(0.0, "float32"))
            lv4: R.Tensor((N, 4), dtype="float32") = R.abs(lv2)
            lv5: R.Tensor((N, 4), dtype="float32") = R.negative(lv4)
            lv6: R.Tensor((N, 4), dtype="float32") = R.exp(lv5)
            lv7: R.Tensor((N, 4), dtype="float32") = R.add(R.const(1.0, "float32"), lv6)
            lv8: R.Tensor((N, 4), dtype="float32") = R.log(lv7)
            lv9: R.Tensor((N, 4), dtype="float32") = R.add(lv3, lv8)
            gv: R.Tensor((N, 4), dtype="float32") = R.divide(R.const(1.0, "float32"), lv9)
            R.output(gv)
        return gv