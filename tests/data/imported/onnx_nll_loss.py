metadata = tvm.ir.load_json("""{
  \"root_index\": 27,
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
      \"type\": \"ffi.Array\",
      \"data\": [
        4
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 5,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 6,
        \"values\": 5
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 7,
        \"dtype\": 2,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAABAAQABAAAAAAAAAAgAAAAAAAAAAQAAAAAAAAA=\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 8,
        \"value\": 9
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
        11
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 12,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 13,
        \"values\": 12
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
        \"shape\": 14,
        \"dtype\": 15,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQABAAAAAAAAAAQAAAAAAAAAAAAAAA==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 16,
        \"value\": 17
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
        19
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 20,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 21,
        \"values\": 20
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 22,
        \"dtype\": 15,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQABAAAAAAAAAAQAAAAAAAAAAACAPw==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 23,
        \"value\": 24
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        10,
        18,
        25
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        26
      ]
    }
  ],
  \"metadata\": {
    \"tvm_version\": \"0.27.0.post1\"
  }
}""")
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(input: R.Tensor((3, 5, 2), dtype="float32"), target: R.Tensor((3, 2), dtype="int64")) -> R.Tensor((), dtype="float32"):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            lv: R.Tensor((3, 1, 2), dtype="int64") = R.expand_dims(target, axis=[1])
            lv1: R.Tensor((3, 1, 2), dtype="int64") = R.astype(lv, dtype="int64")
            lv2: R.Tensor((3, 1, 2), dtype="bool") = R.equal(lv1, metadata["ir.GenericConst"][0])
            lv3: R.Tensor((3, 1, 2), dtype="int64") = R.subtract(lv, lv)
            lv4: R.Shape([3, 5, 2]) = R.shape_of(input)
            lv5: R.Tensor((3,), dtype="int64") = R.shape_to_tensor(lv4)
            lv6: R.Tensor((3, 1, 2), dtype="int64") = R.where(lv2, lv3, lv)
            lv7: R.Tensor((3, 1, 2), dtype="bool") = R.less(lv6, R.const(0, "int64"))
            lv8: R.Tensor((), dtype="int64") = R.take(lv5, R.const(1, "int64"), axis=0, mode="wrap")
            lv9: R.Tensor((3, 1, 2), dtype="int64") = R.add(lv6, lv8)
            lv10: R.Tensor((3, 1, 2), dtype="int64") = R.where(lv7, lv9, lv6)
            lv11: R.Tensor((3, 1, 2), dtype="float32") = R.gather_elements(input, lv10, axis=1)
            lv12: R.Tensor((3, 1, 2), dtype="float32") = R.where(lv2, metadata["ir.GenericConst"][1], lv11)
            lv13: R.Tensor((3, 1, 2), dtype="float32") = R.negative(lv12)
            lv14: R.Tensor((3, 2), dtype="bool") = R.squeeze(lv2, axis=[1])
            lv15: R.Tensor((3, 1, 2), dtype="float32") = R.strided_slice(lv13, (1,), (0,), (1,), (1,), assume_inbound=False)
            lv16: R.Tensor((3, 2), dtype="float32") = R.squeeze(lv15, axis=[1])
            lv17: R.Tensor((3, 2), dtype="float32") = R.where(lv14, metadata["ir.GenericConst"][1], metadata["ir.GenericConst"][2])
            lv18: R.Tensor((3, 2), dtype="float32") = R.multiply(lv16, lv17)
            lv19: R.Tensor((), dtype="float32") = R.sum(lv18, axis=None, keepdims=False)
            lv20: R.Tensor((), dtype="float32") = R.sum(lv17, axis=None, keepdims=False)
            gv: R.Tensor((), dtype="float32") = R.divide(lv19, lv20)
            R.output(gv)
        return gv