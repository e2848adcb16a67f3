metadata = tvm.ir.load_json("""{
  \"root_index\": 25,
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
      \"data\": 2
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
      \"type\": \"int\",
      \"data\": 3
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 7
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        4,
        6,
        8
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 9,
        \"ndim\": 3
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
        \"ndim\": 3
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAwAAAAIgAQAEAAAAAAAAAAIAAAAAAAAAAwAAAAAAAABgAAAAAAAAAJX3PD7g+Vi9T8tUvgmgcD38\\/Li9AASWPfr9Gb2WT2Q+wuY3PGHnuD3P1\\/i9BFmQvvy5XTykmdY8coSTPVfXYr3FSAS+B+QjvgeRYj2zd5E99VqzvXFIWL3kIZW9uhFCvg==\"
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
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 7
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        16,
        17
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 18,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 19,
        \"values\": 18
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 20,
        \"dtype\": 12,
        \"vdevice\": 1,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAEAAAAAAAAAAMAAAAAAAAAMAAAAAAAAACSHaM8nEOtPdT3trxCqRG+HXeivIa3Cz42Glo+w3HcPDuTob2rUku+yk0eviSiEbw=\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 21,
        \"value\": 22
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        15,
        23
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        24
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
    def main(x: R.Tensor((N, 2, 8), dtype="float32")) -> R.Tensor((N, 4, 3), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, 4, 8), dtype="float32") = R.nn.conv1d(x, metadata["ir.GenericConst"][0], strides=[1], padding=[1, 1], dilation=[1], groups=1, data_layout="NCW", kernel_layout="OIW", out_layout="NCW", out_dtype=None)
            lv1: R.Tensor((N, 4, 8), dtype="float32") = R.exp(lv)
            lv2: R.Tensor((N, 4, 8), dtype="float32") = R.subtract(R.const(1.0, "float32"), lv1)
            lv3: R.Tensor((N, 4, 8), dtype="float32") = R.nn.relu(lv2)
            lv4: R.Tensor((N, 4, 8), dtype="float32") = R.multiply(R.const(-1.0, "float32"), lv3)
            lv5: R.Tensor((N, 4, 8), dtype="float32") = R.nn.relu(lv)
            lv6: R.Tensor((N, 4, 8), dtype="float32") = R.add(lv4, lv5)
            lv7: R.Tensor((N, 4, 4), dtype="float32") = R.nn.max_pool1d(lv6, pool_size=[2], strides=[2], dilation=[1], padding=[0, 0], ceil_mode=False, count_include_pad=False, layout="NCW", out_layout="NCW")
            lv8: R.Tensor((N, 4, 4), dtype="float32") = R.permute_dims(lv7, axes=[0, 2, 1])
            gv: R.Tensor((N, 4, 3), dtype="float32") = R.matmul(lv8, metadata["ir.GenericConst"][1], out_dtype=None)
            R.output(gv)
        return gv