metadata = tvm.ir.load_json("""{
  \"root_index\": 14,
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
      \"data\": 2
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
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 9,
        \"dtype\": 2,
        \"vdevice\": 1,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAABAAQACAAAAAAAAAAEAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAIAAAAAAAAA\"
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
      \"type\": \"ffi.Array\",
      \"data\": [
        12
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        13
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
    def main(x: R.Tensor((4, 3), dtype="float32"), u: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            lv: R.Shape([4, 3]) = R.shape_of(x)
            lv1: R.Tensor((2,), dtype="int64") = R.shape_to_tensor(lv)
            lv2: R.Tensor((2, 1), dtype="bool") = R.less(metadata["ir.GenericConst"][0], R.const(0, "int64"))
            lv3: R.Tensor((1,), dtype="int64") = R.strided_slice(lv1, (0,), (0,), (1,), assume_inbound=False)
            lv4: R.Tensor((2, 1), dtype="int64") = R.add(metadata["ir.GenericConst"][0], lv3)
            lv5: R.Tensor((2, 1), dtype="int64") = R.where(lv2, lv4, metadata["ir.GenericConst"][0])
            lv6: R.Tensor((4, 3), dtype="float32") = R.scatter_nd(x, lv5, u, reduction="update")
            lv7: R.Shape([4, 3]) = R.shape_of(lv6)
            lv8: R.Tensor((2,), dtype="int64") = R.shape_to_tensor(lv7)
            lv9: R.Tensor((2, 1), dtype="bool") = R.less(metadata["ir.GenericConst"][0], R.const(0, "int64"))
            lv10: R.Tensor((1,), dtype="int64") = R.strided_slice(lv8, (0,), (0,), (1,), assume_inbound=False)
            lv11: R.Tensor((2, 1), dtype="int64") = R.add(metadata["ir.GenericConst"][0], lv10)
            lv12: R.Tensor((2, 1), dtype="int64") = R.where(lv9, lv11, metadata["ir.GenericConst"][0])
            lv13: R.Tensor((2, 3), dtype="float32") = R.gather_nd(lv6, lv12, batch_dims=0)
            gv: R.Tensor((2, 3), dtype="float32") = R.multiply(lv13, lv13)
            R.output(gv)
        return gv