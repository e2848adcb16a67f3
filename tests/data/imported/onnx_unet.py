metadata = tvm.ir.load_json("""{
  \"root_index\": 57,
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAABAAAAAIgAQAEAAAAAAAAAAIAAAAAAAAAAwAAAAAAAAADAAAAAAAAACABAAAAAAAAawwRvrVzqb3sGI0+Ij\\/VPSAJoL0R8wi+o8zHvTknDruQl2M773GYvce+A77NphE+pwI5PU5sGb0CxLS8S+VYvVZTlr4WgD08XD\\/bvYlZzb0xIIO9s\\/mVPYe5773U3hK+rQqDPah+mj2+Y8S9rFtmPcHn7ryN0fY8UR8BvqiTqj1sbfY9\\/HiCPTCyZD33I8G+BYLVPCjCJrtb63C8cySBvYJrtTukzSg9YxjYvA\\/HPb2E2vs9EmHivc350j1D2JA8yLikvZ2N7bwpary900CKPSWADj1QEGS9\\/LvhvXMq9zyUEsQ9bYI6vHBbKz1OBRq9KWndO3Se7rwb4fA8yJkaviPugz1WXLy8yOISPRpkC71OOAM9LqnbvfCJ8z1mcS6+\"
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
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAABAAAAAIgAQAEAAAAAAAAAAQAAAAAAAAAAwAAAAAAAAADAAAAAAAAAEACAAAAAAAAC9bUvcIOwTyIyxU+UNfjPCwWy7zi7RG+oLGcvBdEArs+HS0+j9J+PUGUHL7Mik8+ysshvQQdtL2XBRc+KAqju\\/R8Fr2\\/OrM8gQitPW1vyz0b0gy+\\/qRMPtHqwT0dUhu9W6mnvSl0xr2rJEo8t7aEvW2lnL0YJaY9qFMVPcydIb24X5Y9AwUMPiEn4L29G3e9iAzBPTE9kz0ytrk8WRDuPaPd3r22dhe+8XWxvbjGSDzgCaO9h5BHvRaux722IH69ysfNvaCDFj0vy6I9aMpEvcrKqbyu\\/W29uplZPc\\/oETzePSM+SVrgvSR7FD3f2zU95KITvf0Dbz0CThO+JvdYPuRsCb5kYLw9HpvlvWuz6z17mh29sceBPPzLrjsrbuE9srQDvXjrl774qJu9RH+WPHBqNL3JqJ09YPDPPf0bcrwpihi+D70NPjLP3T3uGPW8hONXPj7mDr3T4ei9D2J\\/vIe93D2P\\/b+9Ms5HPsubt703d8M9BQNfPTdofLwMS909U5QZvu4DCz4JrtC7dS5evUxumT08Edk9c6edPcu\\/TD4sVd09W24DPtYgXb1Phy48AZlmPRGN6Lp+Gfc8U4guPbLmrD3ceSa8G0cPvZijqb11oLa9Nh7wPeJ6CryNKqE9ndkEvup3Rr6Y2ta9R9TqPQW+2j3GAAg90kikvZtOVrzm7PO8FE0NvY9PgL4NtK+9ubybvD9IGz5DroM8cnMPPilDIb2jAM+8gKbHvrXHPT0jF2A945s0Pp1gR70eQxo8\"
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
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 5
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
      \"type\": \"ffi.Array\",
      \"data\": [
        27,
        28,
        29,
        30
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 31,
        \"ndim\": 4
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
        \"dtype\": 13,
        \"vdevice\": 1,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAABAAAAAIgAQAEAAAAAAAAAAQAAAAAAAAAAgAAAAAAAAACAAAAAAAAAAABAAAAAAAA\\/H2Qvb\\/l8L1lC5K9uE8Nvf\\/LCj5B52c5UeehveBzaDwFPLI8CX6KvV4i6j3vXUG+ju+uvJ40iD01Dgm+M\\/gTPWpkBD7h0jk9hxItvmQilb0wYPw9cGX0PBw5gbo8tzQ9u6uTPfsXkb1Q5e28VCZqPBrOXr2kpVq87uYEPqI1xr1PSkU+43FAPsl0L74xDWe80V0MPY\\/Tm732xZe9rn3CvDhilz09cVG9rw07PvWL7TwxDyi8eWcUPixDgD2GQhc9lqIHvYvAOT7VQqY9c6KmvFSBIb7Owhg97DzqvX62L75QruS8xZTmPHpTAz5xYuc8oxKlPY8P+725qhO7AYJLPA==\"
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
      \"type\": \"int\",
      \"data\": 1
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 37
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
        \"value\": 39
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 37
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 37
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        38,
        40,
        41,
        42
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 43,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 44,
        \"values\": 43
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 45,
        \"dtype\": 13,
        \"vdevice\": 1,
        \"ndim\": 4
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAABAAAAAIgAQABAAAAAAAAAAgAAAAAAAAAAQAAAAAAAAABAAAAAAAAACAAAAAAAAAAiJawPWAnPjzlrKQ9H4VOvUueEj3l7Sk9PvT\\/vR7Njzw=\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 46,
        \"value\": 47
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 37
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        49
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 50,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 51,
        \"values\": 50
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 52,
        \"dtype\": 13,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQABAAAAAAAAAAQAAAAAAAAAcjgDvQ==\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 53,
        \"value\": 54
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        16,
        26,
        36,
        48,
        55
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        56
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
    def main(x: R.Tensor((1, 2, 8, 8), dtype="float32")) -> R.Tensor((1, 1, 8, 8), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.conv2d(x, metadata["ir.GenericConst"][0], strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv1: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.relu(lv)
            lv2: R.Tensor((1, 4, 4, 4), dtype="float32") = R.nn.max_pool2d(lv1, pool_size=[2, 2], strides=[2, 2], dilation=[1, 1], padding=[0, 0, 0, 0], ceil_mode=False, count_include_pad=False, layout="NCHW", out_layout="NCHW")
            lv3: R.Tensor((1, 4, 4, 4), dtype="float32") = R.nn.conv2d(lv2, metadata["ir.GenericConst"][1], strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv4: R.Tensor((1, 4, 4, 4), dtype="float32") = R.nn.relu(lv3)
            lv5: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.conv2d_transpose(lv4, metadata["ir.GenericConst"][2], strides=[2, 2], padding=[0, 0, 0, 0], output_padding=[0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="IOHW", out_layout="NCHW", out_dtype=None)
            lv6: R.Tensor((1, 8, 8, 8), dtype="float32") = R.concat((lv5, lv1), axis=1)
            lv7: R.Tensor((1, 1, 8, 8), dtype="float32") = R.nn.conv2d(lv6, metadata["ir.GenericConst"][3], strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv8: R.Tensor((1, 1, 1, 1), dtype="float32") = R.reshape(metadata["ir.GenericConst"][4], R.shape([1, 1, 1, 1]))
            gv: R.Tensor((1, 1, 8, 8), dtype="float32") = R.add(lv7, lv8)
            R.output(gv)
        return gv