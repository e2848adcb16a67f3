metadata = tvm.ir.load_json("""{
  \"root_index\": 52,
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAgAAAAAAAAAAAEAAAAAAABwZfQ8HDmBujy3ND27q5M9+xeRvVDl7bxUJmo8Gs5evaSlWrzu5gQ+ojXGvU9KRT7jcUA+yXQvvjENZ7zRXQw9j9ObvfbFl72ufcK8OGKXPT1xUb2vDTs+9YvtPDEPKLx5ZxQ+LEOAPYZCFz2Woge9i8A5PtVCpj1zoqa8VIEhvs7CGD3sPOq9frYvvlCu5LzFlOY8elMDPnFi5zyjEqU9jw\\/7vbmqE7sBgks8iJawPWAnPjzlrKQ9H4VOvUueEj3l7Sk9PvT\\/vR7NjzxyOAO9hvpCvh1IxD2iNxS9ypGuvYeMGr1pbWI88WgaPrfuh7yEf0E9j6cMPtSKWj2J19o9\"
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAgAAAAAAAAAAAEAAAAAAACuLUO9MemdPcv5vbsYCtw9bYfNvUenn70J6wE+yqGgvMAHE712MP47hjWNvQtkCD4Z1P+9Yb12vKMcDj1HICu8+U6kvZvYsb3XPS492grTvbtZhD2jEhy+MlJjvWbvbTtpOAC+JoiFPe\\/98roaMNS9vogbvvxQIL5gOqc7N+vsvYDDC76Ya728TzdpPm9c4zzrPpw9RUKuPNFaoD1DiAm+dFYwvT8Z1jzc1uq65kedvBVfiL3dqtO8Q46eveb+d76lovS909NCPd1xHz7rtTk+n4QePAj3tj0x9Lk9UcaNvXneLb5TbEo7C3M0vg0LA72zFXk9RWoRvqqmUzup9P09\"
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAgAAAAAAAAAAAEAAAAAAABVExQ9ZvFVPVCzuT2WdDE+chd4PEHN+z0KRdK79LVfvV\\/zAD0VJHi99MBqvTnueL0rDWu+sNksPLBqAb7uvy+8EHoUPthmVb3IAV69EaoLPlDEXz0l\\/sc9\\/IYRvRs1mT3\\/hoy99nGKvb44dD36F3W9GxudPZPodD56qSy+LA2avexn5T0ysm28jMrtPXXczr31twc95qt2vMD7ZTwIoAc9eNv5vb37271YSA8+XzPwPOM8LjyPbJC7MQoSPWC87L3Omcy955QFPm3ZdzxBJK49eRR4vQj6DD4RbQ09SB5FPXHCYD09OqO9wQw\\/vp0e3L0u9yY+pjAFPlgZDr0cIve8\"
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
        29,
        30
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 31,
        \"ndim\": 2
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
        \"dtype\": 9,
        \"vdevice\": 1,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAgAAAAAAAAAAAEAAAAAAAABTNQ9HPaJvFELBb50lwE+zXNDPSvWgL5dSAC9p2NrPGMeRT3WSHk8LjOCvd2oPbwcgPE8iIzbvJ5UGL2hNgA+gd3BvecjD72AAFC+0JRdPemgqT0DqWA9ePC7PXSDND1YSww99CBCPaT62rybXvM9bsYOva6+Fb4jCa49EIM9PpKjxL0vgya852CMvQzjG72WCZc7h1L+vTJ047x1HRa+\\/b5ovTXo8r1I5di9bR4wvky5+T23glA9K1lEvul1dL1LTom9X4GNvS8pFL6Kf5o9VCUivfnAPz1Ywlc9edgMPsrXOb5pCDI+O+0BPlO6aj1xFHQ+IeunPCc9qD0pOpe9\"
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
        \"dtype\": 9,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAIAAAAAAAAACAAAAAAAAAA\\/1DoPah7iTzEzzi9SsZYPh+x+bxdS2g6m5yhvOvCmr0=\"
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
        \"dtype\": 9,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAIAAAAAAAAACAAAAAAAAAA85tZPe45lz2nJhE9JblxvhNwzj0ndQ+9YBr5vZgadz0=\"
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
      \"type\": \"ffi.Array\",
      \"data\": [
        12,
        20,
        28,
        36,
        43,
        50
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        51
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
    def main(x: R.Tensor((2, 4, 8), dtype="float32")) -> R.Tensor((2, 4, 8), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((2, 4, 8), dtype="float32") = R.matmul(x, metadata["ir.GenericConst"][0], out_dtype=None)
            lv1: R.Tensor((2, 4, 8), dtype="float32") = R.matmul(x, metadata["ir.GenericConst"][1], out_dtype=None)
            lv2: R.Tensor((2, 4, 8), dtype="float32") = R.matmul(x, metadata["ir.GenericConst"][2], out_dtype=None)
            lv3: R.Tensor((2, 4, 2, 4), dtype="float32") = R.reshape(lv, R.shape([2, 4, 2, 4]))
            lv4: R.Tensor((2, 4, 2, 4), dtype="float32") = R.reshape(lv1, R.shape([2, 4, 2, 4]))
            lv5: R.Tensor((2, 4, 2, 4), dtype="float32") = R.reshape(lv2, R.shape([2, 4, 2, 4]))
            lv6: R.Tensor((2, 2, 4, 4), dtype="float32") = R.permute_dims(lv3, axes=[0, 2, 1, 3])
            lv7: R.Tensor((2, 2, 4, 4), dtype="float32") = R.permute_dims(lv4, axes=[0, 2, 3, 1])
            lv8: R.Tensor((2, 2, 4, 4), dtype="float32") = R.matmul(lv6, lv7, out_dtype=None)
            lv9: R.Tensor((2, 2, 4, 4), dtype="float32") = R.multiply(lv8, R.const(0.5, "float32"))
            lv10: R.Tensor((2, 2, 4, 4), dtype="float32") = R.nn.softmax(lv9, axis=-1)
            lv11: R.Tensor((2, 2, 4, 4), dtype="float32") = R.permute_dims(lv5, axes=[0, 2, 1, 3])
            lv12: R.Tensor((2, 2, 4, 4), dtype="float32") = R.matmul(lv10, lv11, out_dtype=None)
            lv13: R.Tensor((2, 4, 2, 4), dtype="float32") = R.permute_dims(lv12, axes=[0, 2, 1, 3])
            lv14: R.Tensor((2, 4, 8), dtype="float32") = R.reshape(lv13, R.shape([2, 4, 8]))
            lv15: R.Tensor((2, 4, 8), dtype="float32") = R.matmul(lv14, metadata["ir.GenericConst"][3], out_dtype=None)
            lv16: R.Tensor((2, 4, 8), dtype="float32") = R.add(lv15, x)
            lv17: R.Tensor((2, 4, 8), dtype="float32") = R.nn.layer_norm(lv16, metadata["ir.GenericConst"][4], metadata["ir.GenericConst"][5], axes=[-1], epsilon=1.0000000000000001e-05, center=True, scale=True)
            gv: R.Tensor((2, 4, 8), dtype="float32") = lv17
            R.output(gv)
        return gv