metadata = tvm.ir.load_json("""{
  \"root_index\": 38,
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
      \"data\": 16
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
      \"data\": 8
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAQAAAAAAAAAAgAAAAAAAAAAAIAAAAAAAAU\\/008zHBYvJcogz1M3is8AWlbvf0bFD2UhwU+UvbBPf4fkL1ElAG+EEt\\/vb5qhztJFW6+8DuzvJ4p\\/73m95W9se1evXqOAb2Xmig9uoHVPViXUrwF7Qs+XDuIvYH6Dz3cB7k9ngcaPMZEmL31xLy9CHw7vURitDwSxc69TFurvOhvgrzFh109SNmvPIiPET1z54W95ltUvOWOoD1n7Rg+pu0AvpoGGz5R0Qk+OAOgPV6k2DwxlQC9I00VPv+6SD7HfDg+qKoGPg1iEj2ydve9XYbpuTFyhj2f7QO+jdchPXoSMD2vjI494oHyvUaEh72NwzK9T5PvvXwcMj4CIEu9974GPZjS07zLJSI+eTQHPuu1gT2wo2G+EX2qO9kEjD2AnM09QBh9ve+SOj5ONge+H3uHvYx\\/vz3+vaA7hQtNPldvmjybrYG9Z6YavXt3372e1QK+uBuBPacLbj0VkAQ+E4uavfD2LD6Sbeu8KzghPuNEMb2CoJa9yp\\/MPNk90z0o5oM8JtVvvUVXCb4DhA++HuZNPXexyj0Tl4a8qQfcvY3Msj3CHAO+TgmSvXFefj0aama+ykEePXY9br06CzM8Cw\\/4u3aSpTyaKo49alCbvTGCET46tJQ95MusPWyQ7j1OTKE9CN6sPYS09zsFGhK+BUJdvLuYnb1SsBG+e7nTPA==\"
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
        14
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 15,
        \"ndim\": 1
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
        \"dtype\": 10,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAQAAAAAAAAAEAAAAAAAAAAu+BovWnn0r1Mm9W9JOPbPHvpEj1uawc+4WG2umle1T2Ilw8+zo3rPQY1cr5qovs9vRsLPaaTLT0EDhg9\\/8YcPQ==\"
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
      \"type\": \"int\",
      \"data\": 4
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 22
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        21,
        23
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 24,
        \"ndim\": 2
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
        \"dtype\": 10,
        \"vdevice\": 1,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAQAAAAAAAAAAQAAAAAAAAAAAEAAAAAAAAC1QI9ygITvTq6Qr4mcjK8spqkvaw33T26juy8GsQIPNL\\/rb2mJlG9iSqXujgaGL49UvY87cktvN7V8r08lHW+aiVSPeXH87xpF1m9N3XBvNQBOj4VMKO7weoNPLlGGL4BsCg+y+a7PR2C2j3JNpw7HLu7PZjwFz2JKXs9Wlp5vBftFr6ZtdI9ziNGvl6OxLx5i6e86JPVvZ8iez0vHKS89\\/AyvVvtVD3vNEO9RzsOPrz0Dz1rSUK9vRdHvvfpBb48ld49xNGlu6Hv57zbRCg+4VcDvqzib71pkkG97ClwPVvkh72GQXu9B14kvupelT3rGKU9uR9Dvd\\/OhTzxXQS+\"
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
        \"value\": 22
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
        \"dtype\": 10,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAEAAAAAAAAABAAAAAAAAAAMkFBvSgaDT6ZYV48y5RsPg==\"
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
      \"type\": \"ffi.Array\",
      \"data\": [
        13,
        20,
        29,
        36
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        37
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
    def main(x: R.Tensor((N, 8), dtype="float32")) -> R.Tensor((N, 4), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((8, 16), dtype="float32") = R.permute_dims(metadata["ir.GenericConst"][0], axes=[1, 0])
            lv1: R.Tensor((N, 16), dtype="float32") = R.matmul(x, lv, out_dtype=None)
            lv2: R.Tensor((N, 16), dtype="float32") = R.add(lv1, metadata["ir.GenericConst"][1])
            lv3: R.Tensor((N, 16), dtype="float32") = R.nn.relu(lv2)
            lv4: R.Tensor((N, 4), dtype="float32") = R.matmul(lv3, metadata["ir.GenericConst"][2], out_dtype=None)
            gv: R.Tensor((N, 4), dtype="float32") = R.add(lv4, metadata["ir.GenericConst"][3])
            R.output(gv)
        return gv