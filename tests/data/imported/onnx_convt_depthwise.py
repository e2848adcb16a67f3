metadata = tvm.ir.load_json("""{
  \"root_index\": 42,
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
        8,
        9
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 10,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 11,
        \"values\": 10
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
        \"shape\": 12,
        \"dtype\": 13,
        \"vdevice\": 1,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAABAAAAAIgAQAEAAAAAAAAAAEAAAAAAAAAAwAAAAAAAAADAAAAAAAAAJAAAAAAAAAAkgOgvWDgtz3i\\/e2911QRvhlBXz0fsUi+E\\/SZvcbEFb1qwgm+ctfkveteiD3ak+88hK7BvZbgWD35khs+0FEDvha5yDu7aEo+wlR6Pc6Upj0P96O8SGyjvZsp6j0E4oU9yNSou\\/2ZPr2R9zK+0G9\\/PKypjb2wB1i8b2qJPcLvpz1cQJM9KetmPsSd7j38y5i9\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 14,
        \"value\": 15
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
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 7
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
        17,
        18,
        19,
        20
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 21,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 22,
        \"values\": 21
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 23,
        \"dtype\": 13,
        \"vdevice\": 1,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAABAAAAAIgAQAEAAAAAAAAAAMAAAAAAAAAAwAAAAAAAAADAAAAAAAAALABAAAAAAAAlpanvRNnbj5l2Ye9aZ+Qu2+sMj76pS8+qwSzuyQzxjxpbye+oge6vTKcFb3BYBS6nG4EvbqEeTxbiGA+qzE+PZfk\\/DzegT85o9OMvM6B\\/D2mAsu9379NvElq4L3ZwA48Uw1DPA2FvD32R\\/U9q8uHPY4eJj6pqSI+wSsBPULsGD12Rka+7ysDPdd4Bbrk5iy+G7IwvZcUxD10s\\/298GUEPlF6Qj10GLu8ZDBpvBX4qT0kkxK+WvlQPpyWpr3iupy9aQP6PX\\/NoT1ZuAc+iDfWPfkrGj2lswK+3KxBvcCPojwkN+G6eDRSvuvk1T3cRDE+YewVPil10L1ukjI938BZvtAOLT62pEa+9yQoPagY7j05OwQ+7OMMPZD8Eb40xCW8ds7bvELhFj1WSso9ApaHPehAWT4aYoc9eUIfvfDoJj6o1AC9EOfmPOEXlDyv02q+WsXiPPUb7TxWyqu8DXxnvN6FA76eGwc8SuYZPh84kbza3FW9\\/ux4vcCMTj7lxgq+tAutPX+JNjwms0Q+CUYGPkSzELyt2B2+J2USPr1NFT6wSOK9s5+YPTv\\/o7269p69\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 24,
        \"value\": 25
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
        27
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 28,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 29,
        \"values\": 28
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 30,
        \"dtype\": 13,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQADAAAAAAAAAAwAAAAAAAAAMMskvhoPvz3BG948\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 31,
        \"value\": 32
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
        34
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 35,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 36,
        \"values\": 35
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 37,
        \"dtype\": 13,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQADAAAAAAAAAAwAAAAAAAAADoxKPcK7FD4w74g9\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 38,
        \"value\": 39
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        16,
        26,
        33,
        40
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        41
      ]
    }
  ],
  \"metadata\": {
    \"tvm_version\": \"0.27.0.post1\"
  }
}""")
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def maximum(A: T.Buffer((T.int64(1), T.int64(3), T.int64(11), T.int64(11)), "float32"), lv13: T.Buffer((), "float32"), T_maximum: T.Buffer((T.int64(1), T.int64(3), T.int64(11), T.int64(11)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(3), T.int64(11), T.int64(11)):
            with T.sblock("T_maximum"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(A[v_ax0, v_ax1, v_ax2, v_ax3], lv13[()])
                T.writes(T_maximum[v_ax0, v_ax1, v_ax2, v_ax3])
                T_maximum[v_ax0, v_ax1, v_ax2, v_ax3] = T.max(A[v_ax0, v_ax1, v_ax2, v_ax3], lv13[()])

    @T.prim_func(private=True, s_tir=True)
    def minimum(lv15: T.Buffer((T.int64(1), T.int64(3), T.int64(11), T.int64(11)), "float32"), lv17: T.Buffer((), "float32"), T_minimum: T.Buffer((T.int64(1), T.int64(3), T.int64(11), T.int64(11)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(3), T.int64(11), T.int64(11)):
            with T.sblock("T_minimum"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(lv15[v_ax0, v_ax1, v_ax2, v_ax3], lv17[()])
                T.writes(T_minimum[v_ax0, v_ax1, v_ax2, v_ax3])
                T_minimum[v_ax0, v_ax1, v_ax2, v_ax3] = T.min(lv15[v_ax0, v_ax1, v_ax2, v_ax3], lv17[()])

    @R.function
    def main(x: R.Tensor((1, 4, 5, 5), dtype="float32")) -> R.Tensor((1, 3, 11, 11), dtype="float32"):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            lv: R.Tensor((1, 4, 5, 5), dtype="float32") = R.nn.conv2d(x, metadata["ir.GenericConst"][0], strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=4, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv1: R.Tensor((1, 3, 11, 11), dtype="float32") = R.nn.conv2d_transpose(lv, metadata["ir.GenericConst"][1], strides=[2, 2], padding=[0, 0, 0, 0], output_padding=[0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="IOHW", out_layout="NCHW", out_dtype=None)
            lv2: R.Tensor((1, 3, 11, 11), dtype="float32") = R.nn.leakyrelu(lv1, alpha=0.10000000149011612)
            lv3: R.Tensor((1, 3, 1, 1), dtype="float32") = R.mean(lv2, axis=[2, 3], keepdims=True)
            lv4: R.Tensor((1, 3, 11, 11), dtype="float32") = R.subtract(lv2, lv3)
            lv5: R.Tensor((1, 3, 1, 1), dtype="float32") = R.variance(lv2, axis=[2, 3], keepdims=True)
            lv6: R.Tensor((1, 3, 1, 1), dtype="float32") = R.add(lv5, R.const(9.9999997473787516e-06, "float32"))
            lv7: R.Tensor((1, 3, 1, 1), dtype="float32") = R.sqrt(lv6)
            lv8: R.Tensor((1, 3, 11, 11), dtype="float32") = R.divide(lv4, lv7)
            lv9: R.Tensor((3, 1, 1), dtype="float32") = R.reshape(metadata["ir.GenericConst"][2], R.shape([3, 1, 1]))
            lv10: R.Tensor((1, 3, 11, 11), dtype="float32") = R.multiply(lv8, lv9)
            lv11: R.Tensor((3, 1, 1), dtype="float32") = R.reshape(metadata["ir.GenericConst"][3], R.shape([3, 1, 1]))
            lv12: R.Tensor((), dtype="bool") = R.isnan(R.const(-1.0, "float32"))
            lv13: R.Tensor((), dtype="float32") = R.where(lv12, R.const("-inf", "float32"), R.const(-1.0, "float32"))
            lv14: R.Tensor((1, 3, 11, 11), dtype="float32") = R.add(lv10, lv11)
            lv15 = R.call_tir(cls.maximum, (lv14, lv13), out_ty=R.Tensor((1, 3, 11, 11), dtype="float32"))
            lv16: R.Tensor((), dtype="bool") = R.isnan(R.const(1.0, "float32"))
            lv17: R.Tensor((), dtype="float32") = R.where(lv16, R.const("inf", "float32"), R.const(1.0, "float32"))
            lv18 = R.call_tir(cls.minimum, (lv15, lv17), out_ty=R.Tensor((1, 3, 11, 11), dtype="float32"))
            gv: R.Tensor((1, 3, 11, 11), dtype="float32") = lv18
            R.output(gv)
        return gv