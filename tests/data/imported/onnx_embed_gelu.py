metadata = tvm.ir.load_json("""{
  \"root_index\": 24,
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
      \"data\": 10
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAKAAAAAAAAAAgAAAAAAAAAQAEAAAAAAAAlaxI9B3acPKcskz4yy4y8j+7CvU3CuzxEmug92p3uvUADur2MOjg9P7SjvtXH371H6qI9JFRwvUiNJr6TLUU+VXAQvtteVr27qxi9STkIPG5ZF703pwS882W8O7sCDrzi0Rg8HJpzvvyoND390A++UN1dvjVzDT4DowO+SVmTPHk4nr0r84q94RpGPS2t1r27pRg9gO4bPZt67j2Dtgm9DVfWPfsyMD7teSI+oA5wPXr6Nz1g5JE+J5NkPtMAnb23J709AJB2PVfO7DvXL3s8+stHPZX4vz1eN7M89C0LPSCODj5iIwI9wD1fPZPMyj3\\/Pic+SUz7PduBGj0PPqo8EZj6vfRB7zyRadS9KbnRvWc5hT0hySS8wWpBPe1mgL2vAfY9bI5rPCw\\/8z2t64k9PF+HPDwBRL3yfE47mZOpPQ==\"
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
        \"value\": 5
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
        \"value\": 15
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        14,
        16
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 17,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 18,
        \"values\": 17
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 19,
        \"dtype\": 10,
        \"vdevice\": 1,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQAIAAAAAAAAABAAAAAAAAAAAAIAAAAAAABc4Y49Etv0vUcP0j2\\/O6+8TPemPXnYjr39oYI9WySjvTDwUzxhJfS86PDpvPsSaL2+n3u8sj0yvhKHsz0T9MQ9NVw1vXFJDb4xcoS9SBLCPU4bgD21DPa8CsO3PZZL1b2T73q9LWZCPfckHbzLWHG99p6AvhF3iT2xmAQ9qnkyvrbkdT3HRLy65GvkPFiTwT1hh5e9USOSPacNjD1b9Zs9mYUnPq3ohj2YA2a9kic4PhHH4r0WiD29\\/YXFvQFdKLx1o909ruQEPlPbPT1Jm3m9VMNivbMRd71LJMM9xai5vRMOsT3Hm1W7uvGMPMrMGj5iskK9OCkqPvVTEL5f6ai9laAhvuHwmL2ev249QBaXPXJP+zw\\/zdo8IEzwvRreB75b8vg89AMKPkwmFb2H5gG+BwIdvsFli73LviE+Iy6qvCCS1L2mo3m9XQ9GvSyX2TzfK4e9d0K2vQUGmryl9z89v9mSPXd\\/YT0IZDu9bZMtvj6Jo70wuOg8c5AIvhfyzjx2p3G9UXRuvWlG5T2PL7M8clAMPuhbwL1nk+c9\\/y26PRpYmb5snxC8fewdPp1Ynz3hwzS9r7O+vKRuBb6s\\/qg87p43vlDvz71yNOU9a8YGu\\/zbFL1Yhi28jmKMPqoB1D3y2Z692KwqPkx7Ebx5fpc9qUhwvaoSwL1SO6Q9z3edvQ==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 20,
        \"value\": 21
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        13,
        22
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        23
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
    def main(ids: R.Tensor((B, S), dtype="int64")) -> R.Tensor((B, 16), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Shape([10, 8]) = R.shape_of(metadata["ir.GenericConst"][0])
            lv1: R.Tensor((2,), dtype="int64") = R.shape_to_tensor(lv)
            lv2: R.Tensor((B, S), dtype="bool") = R.less(ids, R.const(0, "int64"))
            lv3: R.Tensor((), dtype="int64") = R.take(lv1, R.const(0, "int64"), axis=0, mode="wrap")
            lv4: R.Tensor((B, S), dtype="int64") = R.add(ids, lv3)
            lv5: R.Tensor((B, S), dtype="int64") = R.where(lv2, lv4, ids)
            lv6: R.Tensor((B, S, 8), dtype="float32") = R.take(metadata["ir.GenericConst"][0], lv5, axis=0, mode="fast")
            lv7: R.Tensor((B, S, 16), dtype="float32") = R.matmul(lv6, metadata["ir.GenericConst"][1], out_dtype=None)
            lv8: R.Tensor((B, S, 16), dtype="float32") = R.nn.gelu(lv7)
            lv9: R.Tensor((B, 16), dtype="float32") = R.mean(lv8, axis=[1], keepdims=False)
            gv: R.Tensor((B, 16), dtype="float32") = R.nn.softmax(lv9, axis=-1)
            R.output(gv)
        return gv