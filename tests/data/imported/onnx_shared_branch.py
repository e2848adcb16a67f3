metadata = tvm.ir.load_json("""{
  \"root_index\": 30,
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAgAAAAAAAAAAAEAAAAAAADdcMC8iNCBvTDL8jxuBNO8nf8Lvs5rK7tiZiM+Lw9NPptCaL12Zrk94iJZPFeP6DxgxwE+FoGuPazWfDzzNL699zDmvUnG0btRjQQ9ZhlOPbcloD15nsg9NxN2vksGuT1uhNa9RynkPbfjCT1\\/I4E9LZBdvUeM5zzcMz++d07gPfWCB72Yj4S+T2TZPZ6zKz5rbrO97Vz4PceMmb16F2i+v5cSveOVBT1nz1o8IbwpPGHU8jwEZ7E8hPqwvGhTdr16vtm8iwsQvXsn+LyG4uG9JT9evSq4BjzZef08YM\\/Ru0d0lrwi6Vo9nc2mPcZHiz3RMDO+r4g6vaCEkD1UG1M9\"
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
        13,
        14
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 15,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 16,
        \"values\": 15
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 17,
        \"dtype\": 9,
        \"vdevice\": 1,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAgAAAAAAAAAAAEAAAAAAACnOYs9JcIAPenNrr2XYfo9zjgLvhniyT3Toda6v8wWvkNEIr1Ch\\/Y9YwJxvW7u9722k+y8sIqnvboPAL4pNzM9N3ejPTv9Yb3YeVY9uYYevSNfI7y5Lko8iOkYPmjlTz1Nnsy9nkhTPYsytbxvBT+9rvurvWkZLLu+CsW74bskvRh0Dr5\\/0C6+lrBRPD\\/8kTxpjV8+WVySvAow0T0Zx\\/Q9ghrIu1qp+ztiEDC9vMY1PqV2Gr6a6YG79LsNPktsMLwj22m9B8e+PLPaVz24bGg94rjmPGGemT35rcE9i7DivbAxG73fHLI9hiNIPTUvwDxDuYk9RwDDPWG6r705R\\/u9\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 18,
        \"value\": 19
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
      \"type\": \"ffi.Array\",
      \"data\": [
        21,
        22
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 23,
        \"ndim\": 2
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
        \"ndim\": 2
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAgAAAAAAAAAAAEAAAAAAAAiRuy9B1Q+PqLy1718LMC8nvGXvD8p0z0LATK+kKyAu+y0+D3bVOQ9eacnPeXC1bye\\/DM+GDUrvuHnyD1QJlA9sBZyPSfA2TxlFag8GaC+PcEk7L05S\\/+96hSFPEHjqjsGEoY8P9wiPv1Ibb2+3pk9Q3gdPQNWcj57lQ++\\/6RfvegZO73QOgc+WeunvfvFKT5zpSM+CEexPTQmMz1HWh++hTeVPDOAEr4iiBS9UGGmPAYH\\/byZucI9Z6RTvCeTHr6HGdm9vnICviGcAb1ggf89USdPPSYQCz2BnwO+NZpyPrg5ObvqfXc+3qWxvQWXaL1IGoU+pSjcvX2AKz1lhwq9\"
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
      \"type\": \"ffi.Array\",
      \"data\": [
        12,
        20,
        28
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        29
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
S = TypeVar("S")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((N, S, 8), dtype="float32")) -> R.Tensor((N, S, 8), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((N, S, 8), dtype="float32") = R.matmul(x, metadata["ir.GenericConst"][0], out_dtype=None)
            lv1: R.Tensor((N, S, 8), dtype="float32") = R.sigmoid(lv)
            lv2: R.Tensor((N, S, 8), dtype="float32") = R.multiply(lv, lv1)
            lv3: R.Tensor((N, S, 8), dtype="float32") = R.matmul(x, metadata["ir.GenericConst"][1], out_dtype=None)
            lv4: R.Tensor((N, S, 8), dtype="float32") = R.multiply(lv2, lv3)
            lv5: R.Tensor((N, S, 8), dtype="float32") = R.matmul(x, metadata["ir.GenericConst"][2], out_dtype=None)
            gv: R.Tensor((N, S, 8), dtype="float32") = R.add(lv4, lv5)
            R.output(gv)
        return gv