metadata = tvm.ir.load_json("""{
  \"root_index\": 20,
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
        \"shape\": 7,
        \"dtype\": 8,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAEAAAAAAAAABAAAAAAAAAAcfK4PEs90jxfbte8pAYevg==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 9,
        \"value\": 10
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
        12
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 13,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 14,
        \"values\": 13
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 15,
        \"dtype\": 8,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAEAAAAAAAAABAAAAAAAAAA2W0hvlFgcTwb36i9e50FPg==\"
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
      \"type\": \"ffi.Array\",
      \"data\": [
        11,
        18
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        19
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
    def main(x: R.Tensor((2, 4, 3, 3), dtype="float32")) -> R.Tensor((2, 4, 3, 3), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = R.ones_like(metadata["ir.GenericConst"][0], dtype=None)
            lv1: R.Tensor((4,), dtype="float32") = R.zeros_like(metadata["ir.GenericConst"][1], dtype=None)
            lv2: R.Tensor((2, 4, 3, 3), dtype="float32") = R.nn.group_norm(x, lv, lv1, num_groups=2, channel_axis=1, axes=[2, 3], epsilon=1.0000000000000001e-05, center=False, scale=False)
            lv3: R.Tensor((4, 1, 1), dtype="float32") = R.reshape(metadata["ir.GenericConst"][0], R.shape([4, 1, 1]))
            lv4: R.Tensor((2, 4, 3, 3), dtype="float32") = R.multiply(lv2, lv3)
            lv5: R.Tensor((4, 1, 1), dtype="float32") = R.reshape(metadata["ir.GenericConst"][1], R.shape([4, 1, 1]))
            lv6: R.Tensor((2, 4, 3, 3), dtype="float32") = R.add(lv4, lv5)
            lv7: R.Tensor((2, 4, 3, 3), dtype="float32") = R.sigmoid(lv6)
            gv: R.Tensor((2, 4, 3, 3), dtype="float32") = R.multiply(lv6, lv7)
            R.output(gv)
        return gv