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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAgAAAAAAAAAAAEAAAAAAAAKi2Y9Gp\\/VvWstfT5Fu\\/e9oHUxvtNf7L1qfRE+1A+QvPlkGL2trcu7gV90va9djb0pUoO9Qv2QPUf90D09Fdi9vvnDPMNsoT31it297dlNvXWY1L2KMwS+YuQmPInClr1XQYE9zNFAux0DKT0rcO+8JwyCvRKPFLx2+AK6KI+Qvce7Lj0T55g9WYCBPCN2Lz7HgIG9fjxVPfNqJ71gNcA8P\\/mpvZVg5D1CMpA88yv0PfClAb7SJEq9J8y2vSbiWb2y2I29iH5FvNAP4rqZTIa75opjvemJmTx4U7M9Osm4vbFbujgqt\\/K7i9Y\\/PXdA0btcUs269vnKvQA9DjtMzby9\"
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAgAAAAAAAAAAAEAAAAAAACDO1M9KR0pvKqbgjsLhLa9DJykPTDJjT2qcLA9lxVkPnMYrLv3dPY9JeFKvAxrIT1opBU96sDYPJXPhj0U\\/Pi8fSCGO0lDWz3x+jI+wIOsva\\/yOL4LSEa9uFYTPFtXjzzxFhc8RDzyPR\\/lxz3qcKG7llNAvam5Db0z8RG9pM+4vBcKIb6g1zy95gcuvRa7mryUUtC8h6CJPU7iWb01pDO9ZvpdPRrFwLzZUbE8eBSJPbXWLD3e7sw8yOygvOSmiz1+z488pslOvfUVd7wQefm9Ou3EvU7PQL79P4u9hsIIPhbwY73SSaE9Kd+0ue94j70yCgk+tXhuPWdiM754R9U9\"
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAgAAAAAAAAAAAEAAAAAAAAHHty9Qr+RvGPUiD3Eo\\/W85SjlPSXomz3ZeCG+UIJBvSYT5zz7hGu9eSyxvMPLoz3twAE99Iq8vZwJjzwgyXq9FN\\/4vXlv573wEus8+T44u0BkDjpdvuq906yWvHRp1L24ub29l0WHvMCoDb7hEIk9JKh+PhvvOz0pltW9uSfevN9GH77zqxq9uctPPXlpcT0JTdO9ZA\\/1PBbV7D2suDM+1oWPvfj8sL1XT7I7EOuVvvOCWb2S+928gCU8vUkwIr7NJ8m8qAyfve4hmz2IGry9EUznvLnUvrwtemg9rlmCvh2FC722kZs9wyUUvb1bHL5NxgU9LugJPb2V3byyhu29\"
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAAAgAAAAAAAAAAAEAAAAAAAC2sJe9wYMAvSNPs71ToES+yYydvZFSyrsasU+9GKP3u7MQCTxhnrc97athPknelT2hzQ++HAmIvk7EGrz27Ok7oPPtvUbZ3jy5EZ29++4kPQ5VBb35zCI90YAyvpaYM72vdXO8POgRvl7AQD40gF29RlUOPqkOiL1yZLy8jnbyPRzl+Dy3VJ08YtzZPALlC76kjx+9TOHDvaW4oTxX0l69eF+Qu7RF\\/bthW267\\/7dju2ebhb0a3Ne9Zw+IvXhz2z22QRk9u2pwPQhPDT4mjPG9Y+BQPdgs3L1Q8Qi9OlhGPRhPJT74L6C9blAbvBzM7D1tjhi+S1IUPZ2K\\/Lw2krS9\"
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAIAAAAAAAAACAAAAAAAAAAbT1wPICucz1MzLq90aQbPVIGjjzIUv69yREfPko23z0=\"
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAIAAAAAAAAACAAAAAAAAAA7RywvbVIcL0V2509me9KvR9jPL6hz9Y9IjNmOoxHQz4=\"
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
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

B = TypeVar("B")
S = TypeVar("S")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((B, S, 8), dtype="float32")) -> R.Tensor((B, S, 8), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((B, S, 8), dtype="float32") = R.matmul(x, metadata["ir.GenericConst"][0], out_dtype=None)
            lv1: R.Tensor((B, S, 8), dtype="float32") = R.matmul(x, metadata["ir.GenericConst"][1], out_dtype=None)
            lv2: R.Tensor((B, S, 8), dtype="float32") = R.matmul(x, metadata["ir.GenericConst"][2], out_dtype=None)
            lv3: R.Tensor((B, S, 2, 4), dtype="float32") = R.reshape(lv, R.shape([B, S, 2, 4]))
            lv4: R.Tensor((B, S, 2, 4), dtype="float32") = R.reshape(lv1, R.shape([B, S, 2, 4]))
            lv5: R.Tensor((B, S, 2, 4), dtype="float32") = R.reshape(lv2, R.shape([B, S, 2, 4]))
            lv6: R.Tensor((B, 2, S, 4), dtype="float32") = R.permute_dims(lv3, axes=[0, 2, 1, 3])
            lv7: R.Tensor((B, 2, 4, S), dtype="float32") = R.permute_dims(lv4, axes=[0, 2, 3, 1])
            lv8: R.Tensor((B, 2, S, S), dtype="float32") = R.matmul(lv6, lv7, out_dtype=None)
            lv9: R.Tensor((B, 2, S, S), dtype="float32") = R.multiply(lv8, R.const(0.5, "float32"))
            lv10: R.Tensor((B, 2, S, S), dtype="float32") = R.nn.softmax(lv9, axis=-1)
            lv11: R.Tensor((B, 2, S, 4), dtype="float32") = R.permute_dims(lv5, axes=[0, 2, 1, 3])
            lv12: R.Tensor((B, 2, S, 4), dtype="float32") = R.matmul(lv10, lv11, out_dtype=None)
            lv13: R.Tensor((B, S, 2, 4), dtype="float32") = R.permute_dims(lv12, axes=[0, 2, 1, 3])
            lv14: R.Tensor((B, S, 8), dtype="float32") = R.reshape(lv13, R.shape([B, S, 8]))
            lv15: R.Tensor((B, S, 8), dtype="float32") = R.matmul(lv14, metadata["ir.GenericConst"][3], out_dtype=None)
            lv16: R.Tensor((B, S, 8), dtype="float32") = R.add(lv15, x)
            lv17: R.Tensor((B, S, 8), dtype="float32") = R.nn.layer_norm(lv16, metadata["ir.GenericConst"][4], metadata["ir.GenericConst"][5], axes=[-1], epsilon=1.0000000000000001e-05, center=True, scale=True)
            gv: R.Tensor((B, S, 8), dtype="float32") = lv17
            R.output(gv)
        return gv