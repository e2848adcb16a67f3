# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

p = TypeVar("p")
s = TypeVar("s")
@I.ir_module
class Module:
    @R.function
    def forward(ids: R.Tensor((1, s), dtype="int32"), cos: R.Tensor((s, 16), dtype="float32"), sin: R.Tensor((s, 16), dtype="float32"), past: R.Tuple(R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32"), R.Tensor((1, 4, p, 16), dtype="float32")), embed_weight: R.Tensor((1000, 64), dtype="float32"), layers_0_n1_weight: R.Tensor((64,), dtype="float32"), layers_0_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_0_o_weight: R.Tensor((64, 64), dtype="float32"), layers_0_n2_weight: R.Tensor((64,), dtype="float32"), layers_0_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_0_down_weight: R.Tensor((64, 172), dtype="float32"), layers_1_n1_weight: R.Tensor((64,), dtype="float32"), layers_1_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_1_o_weight: R.Tensor((64, 64), dtype="float32"), layers_1_n2_weight: R.Tensor((64,), dtype="float32"), layers_1_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_1_down_weight: R.Tensor((64, 172), dtype="float32"), layers_2_n1_weight: R.Tensor((64,), dtype="float32"), layers_2_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_2_o_weight: R.Tensor((64, 64), dtype="float32"), layers_2_n2_weight: R.Tensor((64,), dtype="float32"), layers_2_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_2_down_weight: R.Tensor((64, 172), dtype="float32"), layers_3_n1_weight: R.Tensor((64,), dtype="float32"), layers_3_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_3_o_weight: R.Tensor((64, 64), dtype="float32"), layers_3_n2_weight: R.Tensor((64,), dtype="float32"), layers_3_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_3_down_weight: R.Tensor((64, 172), dtype="float32"), layers_4_n1_weight: R.Tensor((64,), dtype="float32"), layers_4_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_4_o_weight: R.Tensor((64, 64), dtype="float32"), layers_4_n2_weight: R.Tensor((64,), dtype="float32"), layers_4_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_4_down_weight: R.Tensor((64, 172), dtype="float32"), layers_5_n1_weight: R.Tensor((64,), dtype="float32"), layers_5_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_5_o_weight: R.Tensor((64, 64), dtype="float32"), layers_5_n2_weight: R.Tensor((64,), dtype="float32"), layers_5_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_5_down_weight: R.Tensor((64, 172), dtype="float32"), layers_6_n1_weight: R.Tensor((64,), dtype="float32"), layers_6_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_6_o_weight: R.Tensor((64, 64), dtype="float32"), layers_6_n2_weight: R.Tensor((64,), dtype="float32"), layers_6_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_6_down_weight: R.Tensor((64, 172), dtype="float32"), layers_7_n1_weight: R.Tensor((64,), dtype="float32"), layers_7_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_7_o_weight: R.Tensor((64, 64), dtype="float32"), layers_7_n2_weight: R.Tensor((64,), dtype="float32"), layers_7_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_7_down_weight: R.Tensor((64, 172), dtype="float32"), layers_8_n1_weight: R.Tensor((64,), dtype="float32"), layers_8_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_8_o_weight: R.Tensor((64, 64), dtype="float32"), layers_8_n2_weight: R.Tensor((64,), dtype="float32"), layers_8_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_8_down_weight: R.Tensor((64, 172), dtype="float32"), layers_9_n1_weight: R.Tensor((64,), dtype="float32"), layers_9_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_9_o_weight: R.Tensor((64, 64), dtype="float32"), layers_9_n2_weight: R.Tensor((64,), dtype="float32"), layers_9_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_9_down_weight: R.Tensor((64, 172), dtype="float32"), layers_10_n1_weight: R.Tensor((64,), dtype="float32"), layers_10_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_10_o_weight: R.Tensor((64, 64), dtype="float32"), layers_10_n2_weight: R.Tensor((64,), dtype="float32"), layers_10_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_10_down_weight: R.Tensor((64, 172), dtype="float32"), layers_11_n1_weight: R.Tensor((64,), dtype="float32"), layers_11_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_11_o_weight: R.Tensor((64, 64), dtype="float32"), layers_11_n2_weight: R.Tensor((64,), dtype="float32"), layers_11_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_11_down_weight: R.Tensor((64, 172), dtype="float32"), layers_12_n1_weight: R.Tensor((64,), dtype="float32"), layers_12_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_12_o_weight: R.Tensor((64, 64), dtype="float32"), layers_12_n2_weight: R.Tensor((64,), dtype="float32"), layers_12_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_12_down_weight: R.Tensor((64, 172), dtype="float32"), layers_13_n1_weight: R.Tensor((64,), dtype="float32"), layers_13_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_13_o_weight: R.Tensor((64, 64), dtype="float32"), layers_13_n2_weight: R.Tensor((64,), dtype="float32"), layers_13_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_13_down_weight: R.Tensor((64, 172), dtype="float32"), layers_14_n1_weight: R.Tensor((64,), dtype="float32"), layers_14_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_14_o_weight: R.Tensor((64, 64), dtype="float32"), layers_14_n2_weight: R.Tensor((64,), dtype="float32"), layers_14_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_14_down_weight: R.Tensor((64, 172), dtype="float32"), layers_15_n1_weight: R.Tensor((64,), dtype="float32"), layers_15_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_15_o_weight: R.Tensor((64, 64), dtype="float32"), layers_15_n2_weight: R.Tensor((64,), dtype="float32"), layers_15_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_15_down_weight: R.Tensor((64, 172), dtype="float32"), layers_16_n1_weight: R.Tensor((64,), dtype="float32"), layers_16_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_16_o_weight: R.Tensor((64, 64), dtype="float32"), layers_16_n2_weight: R.Tensor((64,), dtype="float32"), layers_16_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_16_down_weight: R.Tensor((64, 172), dtype="float32"), layers_17_n1_weight: R.Tensor((64,), dtype="float32"), layers_17_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_17_o_weight: R.Tensor((64, 64), dtype="float32"), layers_17_n2_weight: R.Tensor((64,), dtype="float32"), layers_17_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_17_down_weight: R.Tensor((64, 172), dtype="float32"), layers_18_n1_weight: R.Tensor((64,), dtype="float32"), layers_18_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_18_o_weight: R.Tensor((64, 64), dtype="float32"), layers_18_n2_weight: R.Tensor((64,), dtype="float32"), layers_18_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_18_down_weight: R.Tensor((64, 172), dtype="float32"), layers_19_n1_weight: R.Tensor((64,), dtype="float32"), layers_19_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_19_o_weight: R.Tensor((64, 64), dtype="float32"), layers_19_n2_weight: R.Tensor((64,), dtype="float32"), layers_19_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_19_down_weight: R.Tensor((64, 172), dtype="float32"), layers_20_n1_weight: R.Tensor((64,), dtype="float32"), layers_20_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_20_o_weight: R.Tensor((64, 64), dtype="float32"), layers_20_n2_weight: R.Tensor((64,), dtype="float32"), layers_20_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_20_down_weight: R.Tensor((64, 172), dtype="float32"), layers_21_n1_weight: R.Tensor((64,), dtype="float32"), layers_21_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_21_o_weight: R.Tensor((64, 64), dtype="float32"), layers_21_n2_weight: R.Tensor((64,), dtype="float32"), layers_21_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_21_down_weight: R.Tensor((64, 172), dtype="float32"), layers_22_n1_weight: R.Tensor((64,), dtype="float32"), layers_22_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_22_o_weight: R.Tensor((64, 64), dtype="float32"), layers_22_n2_weight: R.Tensor((64,), dtype="float32"), layers_22_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_22_down_weight: R.Tensor((64, 172), dtype="float32"), layers_23_n1_weight: R.Tensor((64,), dtype="float32"), layers_23_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_23_o_weight: R.Tensor((64, 64), dtype="float32"), layers_23_n2_weight: R.Tensor((64,), dtype="float32"), layers_23_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_23_down_weight: R.Tensor((64, 172), dtype="float32"), layers_24_n1_weight: R.Tensor((64,), dtype="float32"), layers_24_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_24_o_weight: R.Tensor((64, 64), dtype="float32"), layers_24_n2_weight: R.Tensor((64,), dtype="float32"), layers_24_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_24_down_weight: R.Tensor((64, 172), dtype="float32"), layers_25_n1_weight: R.Tensor((64,), dtype="float32"), layers_25_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_25_o_weight: R.Tensor((64, 64), dtype="float32"), layers_25_n2_weight: R.Tensor((64,), dtype="float32"), layers_25_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_25_down_weight: R.Tensor((64, 172), dtype="float32"), layers_26_n1_weight: R.Tensor((64,), dtype="float32"), layers_26_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_26_o_weight: R.Tensor((64, 64), dtype="float32"), layers_26_n2_weight: R.Tensor((64,), dtype="float32"), layers_26_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_26_down_weight: R.Tensor((64, 172), dtype="float32"), layers_27_n1_weight: R.Tensor((64,), dtype="float32"), layers_27_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_27_o_weight: R.Tensor((64, 64), dtype="float32"), layers_27_n2_weight: R.Tensor((64,), dtype="float32"), layers_27_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_27_down_weight: R.Tensor((64, 172), dtype="float32"), layers_28_n1_weight: R.Tensor((64,), dtype="float32"), layers_28_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_28_o_weight: R.Tensor((64, 64), dtype="float32"), layers_28_n2_weight: R.Tensor((64,), dtype="float32"), layers_28_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_28_down_weight: R.Tensor((64, 172), dtype="float32"), layers_29_n1_weight: R.Tensor((64,), dtype="float32"), layers_29_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_29_o_weight: R.Tensor((64, 64), dtype="float32"), layers_29_n2_weight: R.Tensor((64,), dtype="float32"), layers_29_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_29_down_weight: R.Tensor((64, 172), dtype="float32"), layers_30_n1_weight: R.Tensor((64,), dtype="float32"), layers_30_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_30_o_weight: R.Tensor((64, 64), dtype="float32"), layers_30_n2_weight: R.Tensor((64,), dtype="float32"), layers_30_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_30_down_weight: R.Tensor((64, 172), dtype="float32"), layers_31_n1_weight: R.Tensor((64,), dtype="float32"), layers_31_qkv_weight: R.Tensor((192, 64), dtype="float32"), layers_31_o_weight: R.Tensor((64, 64), dtype="float32"), layers_31_n2_weight: R.Tensor((64,), dtype="float32"), layers_31_gu_weight: R.Tensor((344, 64), dtype="float32"), layers_31_down_weight: R.Tensor((64, 172), dtype="float32"), norm_weight: R.Tensor((64,), dtype="float32"), head_weight: R.Tensor((1000, 64), dtype="float32")) -> R.Tuple(R.Tensor((1, s, 1000), dtype="float32"), R.Tuple(R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"), R.Tensor((1, 4, "p + s", 16), dtype="float32"))):
        R.func_attr({"num_input": 4})
        with R.dataflow():
            past_0: R.Tensor((1, 4, p, 16), dtype="float32") = past[0]
            past_1: R.Tensor((1, 4, p, 16), dtype="float32") = past[1]
            past_2: R.Tensor((1, 4, p, 16), dtype="float32") = past[2]
            past_3: R.Tensor((1, 4, p, 16), dtype="float32") = past[3]
            past_4: R.Tensor((1, 4, p, 16), dtype="float32") = past[4]
            past_5: R.Tensor((1, 4, p, 16), dtype="float32") = past[5]
            past_6: R.Tensor((1, 4, p, 16), dtype="float32") = past[6]
            past_7: R.Tensor((1, 4, p, 16), dtype="float32") = past[7]
            past_8: R.Tensor((1, 4, p, 16), dtype="float32") = past[8]
            past_9: R.Tensor((1, 4, p, 16), dtype="float32") = past[9]
            past_10: R.Tensor((1, 4, p, 16), dtype="float32") = past[10]
            past_11: R.Tensor((1, 4, p, 16), dtype="float32") = past[11]
            past_12: R.Tensor((1, 4, p, 16), dtype="float32") = past[12]
            past_13: R.Tensor((1, 4, p, 16), dtype="float32") = past[13]
            past_14: R.Tensor((1, 4, p, 16), dtype="float32") = past[14]
            past_15: R.Tensor((1, 4, p, 16), dtype="float32") = past[15]
            past_16: R.Tensor((1, 4, p, 16), dtype="float32") = past[16]
            past_17: R.Tensor((1, 4, p, 16), dtype="float32") = past[17]
            past_18: R.Tensor((1, 4, p, 16), dtype="float32") = past[18]
            past_19: R.Tensor((1, 4, p, 16), dtype="float32") = past[19]
            past_20: R.Tensor((1, 4, p, 16), dtype="float32") = past[20]
            past_21: R.Tensor((1, 4, p, 16), dtype="float32") = past[21]
            past_22: R.Tensor((1, 4, p, 16), dtype="float32") = past[22]
            past_23: R.Tensor((1, 4, p, 16), dtype="float32") = past[23]
            past_24: R.Tensor((1, 4, p, 16), dtype="float32") = past[24]
            past_25: R.Tensor((1, 4, p, 16), dtype="float32") = past[25]
            past_26: R.Tensor((1, 4, p, 16), dtype="float32") = past[26]
            past_27: R.Tensor((1, 4, p, 16), dtype="float32") = past[27]
            past_28: R.Tensor((1, 4, p, 16), dtype="float32") = past[28]
            past_29: R.Tensor((1, 4, p, 16), dtype="float32") = past[29]
            past_30: R.Tensor((1, 4, p, 16), dtype="float32") = past[30]
            past_31: R.Tensor((1, 4, p, 16), dtype="float32") = past[31]
            past_32: R.Tensor((1, 4, p, 16), dtype="float32") = past[32]
            past_33: R.Tensor((1, 4, p, 16), dtype="float32") = past[33]
            past_34: R.Tensor((1, 4, p, 16), dtype="float32") = past[34]
            past_35: R.Tensor((1, 4, p, 16), dtype="float32") = past[35]
            past_36: R.Tensor((1, 4, p, 16), dtype="float32") = past[36]
            past_37: R.Tensor((1, 4, p, 16), dtype="float32") = past[37]
            past_38: R.Tensor((1, 4, p, 16), dtype="float32") = past[38]
            past_39: R.Tensor((1, 4, p, 16), dtype="float32") = past[39]
            past_40: R.Tensor((1, 4, p, 16), dtype="float32") = past[40]
            past_41: R.Tensor((1, 4, p, 16), dtype="float32") = past[41]
            past_42: R.Tensor((1, 4, p, 16), dtype="float32") = past[42]
            past_43: R.Tensor((1, 4, p, 16), dtype="float32") = past[43]
            past_44: R.Tensor((1, 4, p, 16), dtype="float32") = past[44]
            past_45: R.Tensor((1, 4, p, 16), dtype="float32") = past[45]
            past_46: R.Tensor((1, 4, p, 16), dtype="float32") = past[46]
            past_47: R.Tensor((1, 4, p, 16), dtype="float32") = past[47]
            past_48: R.Tensor((1, 4, p, 16), dtype="float32") = past[48]
            past_49: R.Tensor((1, 4, p, 16), dtype="float32") = past[49]
            past_50: R.Tensor((1, 4, p, 16), dtype="float32") = past[50]
            past_51: R.Tensor((1, 4, p, 16), dtype="float32") = past[51]
            past_52: R.Tensor((1, 4, p, 16), dtype="float32") = past[52]
            past_53: R.Tensor((1, 4, p, 16), dtype="float32") = past[53]
            past_54: R.Tensor((1, 4, p, 16), dtype="float32") = past[54]
            past_55: R.Tensor((1, 4, p, 16), dtype="float32") = past[55]
            past_56: R.Tensor((1, 4, p, 16), dtype="float32") = past[56]
            past_57: R.Tensor((1, 4, p, 16), dtype="float32") = past[57]
            past_58: R.Tensor((1, 4, p, 16), dtype="float32") = past[58]
            past_59: R.Tensor((1, 4, p, 16), dtype="float32") = past[59]
            past_60: R.Tensor((1, 4, p, 16), dtype="float32") = past[60]
            past_61: R.Tensor((1, 4, p, 16), dtype="float32") = past[61]
            past_62: R.Tensor((1, 4, p, 16), dtype="float32") = past[62]
            past_63: R.Tensor((1, 4, p, 16), dtype="float32") = past[63]
            reshape: R.Tensor((s,), dtype="int32") = R.reshape(ids, R.shape([s]))
            take: R.Tensor((s, 64), dtype="float32") = R.take(embed_weight, reshape, axis=0, mode="fast")
            reshape1: R.Tensor((1, s, 64), dtype="float32") = R.reshape(take, R.shape([1, s, 64]))
            rms_norm: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(reshape1, layers_0_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_0_qkv_weight, axes=None)
            matmul: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm, permute_dims, out_dtype=None)
            split: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul, indices_or_sections=3, axis=-1)
            split_0: R.Tensor((1, s, 64), dtype="float32") = split[0]
            split_1: R.Tensor((1, s, 64), dtype="float32") = split[1]
            split_2: R.Tensor((1, s, 64), dtype="float32") = split[2]
            reshape2: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_0, R.shape([1, s, 4, 16]))
            permute_dims1: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape2, axes=[0, 2, 1, 3])
            split1: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims1, indices_or_sections=2, axis=-1)
            split_01: R.Tensor((1, 4, s, 8), dtype="float32") = split1[0]
            split_11: R.Tensor((1, 4, s, 8), dtype="float32") = split1[1]
            mul: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims1, cos)
            neg: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_11)
            concat: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg, split_01), axis=-1)
            mul1: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat, sin)
            add: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul, mul1)
            reshape3: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_1, R.shape([1, s, 4, 16]))
            permute_dims2: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape3, axes=[0, 2, 1, 3])
            split2: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims2, indices_or_sections=2, axis=-1)
            split_02: R.Tensor((1, 4, s, 8), dtype="float32") = split2[0]
            split_12: R.Tensor((1, 4, s, 8), dtype="float32") = split2[1]
            mul2: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims2, cos)
            neg1: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_12)
            concat1: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg1, split_02), axis=-1)
            mul3: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat1, sin)
            add1: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul2, mul3)
            reshape4: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_2, R.shape([1, s, 4, 16]))
            permute_dims3: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape4, axes=[0, 2, 1, 3])
            concat2: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_0, add1), axis=2)
            concat3: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_1, permute_dims3), axis=2)
            permute_dims4: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat2, axes=[0, 1, 3, 2])
            matmul1: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add, permute_dims4, out_dtype=None)
            mul4: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul1, R.const(0.25, "float32"))
            softmax: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul4, axis=-1)
            matmul2: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax, concat3, out_dtype=None)
            permute_dims5: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul2, axes=[0, 2, 1, 3])
            reshape5: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims5, R.shape([1, s, 64]))
            permute_dims6: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_0_o_weight, axes=None)
            matmul3: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape5, permute_dims6, out_dtype=None)
            add2: R.Tensor((1, s, 64), dtype="float32") = R.add(reshape1, matmul3)
            rms_norm1: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add2, layers_0_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims7: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_0_gu_weight, axes=None)
            matmul4: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm1, permute_dims7, out_dtype=None)
            split3: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul4, indices_or_sections=2, axis=-1)
            split_03: R.Tensor((1, s, 172), dtype="float32") = split3[0]
            split_13: R.Tensor((1, s, 172), dtype="float32") = split3[1]
            silu: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_03)
            mul5: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu, split_13)
            permute_dims8: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_0_down_weight, axes=None)
            matmul5: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul5, permute_dims8, out_dtype=None)
            add3: R.Tensor((1, s, 64), dtype="float32") = R.add(add2, matmul5)
            rms_norm2: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add3, layers_1_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims9: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_1_qkv_weight, axes=None)
            matmul6: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm2, permute_dims9, out_dtype=None)
            split4: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul6, indices_or_sections=3, axis=-1)
            split_04: R.Tensor((1, s, 64), dtype="float32") = split4[0]
            split_14: R.Tensor((1, s, 64), dtype="float32") = split4[1]
            split_21: R.Tensor((1, s, 64), dtype="float32") = split4[2]
            reshape6: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_04, R.shape([1, s, 4, 16]))
            permute_dims10: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape6, axes=[0, 2, 1, 3])
            split5: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims10, indices_or_sections=2, axis=-1)
            split_05: R.Tensor((1, 4, s, 8), dtype="float32") = split5[0]
            split_15: R.Tensor((1, 4, s, 8), dtype="float32") = split5[1]
            mul6: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims10, cos)
            neg2: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_15)
            concat4: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg2, split_05), axis=-1)
            mul7: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat4, sin)
            add4: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul6, mul7)
            reshape7: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_14, R.shape([1, s, 4, 16]))
            permute_dims11: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape7, axes=[0, 2, 1, 3])
            split6: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims11, indices_or_sections=2, axis=-1)
            split_06: R.Tensor((1, 4, s, 8), dtype="float32") = split6[0]
            split_16: R.Tensor((1, 4, s, 8), dtype="float32") = split6[1]
            mul8: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims11, cos)
            neg3: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_16)
            concat5: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg3, split_06), axis=-1)
            mul9: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat5, sin)
            add5: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul8, mul9)
            reshape8: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_21, R.shape([1, s, 4, 16]))
            permute_dims12: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape8, axes=[0, 2, 1, 3])
            concat6: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_2, add5), axis=2)
            concat7: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_3, permute_dims12), axis=2)
            permute_dims13: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat6, axes=[0, 1, 3, 2])
            matmul7: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add4, permute_dims13, out_dtype=None)
            mul10: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul7, R.const(0.25, "float32"))
            softmax1: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul10, axis=-1)
            matmul8: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax1, concat7, out_dtype=None)
            permute_dims14: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul8, axes=[0, 2, 1, 3])
            reshape9: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims14, R.shape([1, s, 64]))
            permute_dims15: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_1_o_weight, axes=None)
            matmul9: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape9, permute_dims15, out_dtype=None)
            add6: R.Tensor((1, s, 64), dtype="float32") = R.add(add3, matmul9)
            rms_norm3: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add6, layers_1_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims16: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_1_gu_weight, axes=None)
            matmul10: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm3, permute_dims16, out_dtype=None)
            split7: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul10, indices_or_sections=2, axis=-1)
            split_07: R.Tensor((1, s, 172), dtype="float32") = split7[0]
            split_17: R.Tensor((1, s, 172), dtype="float32") = split7[1]
            silu1: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_07)
            mul11: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu1, split_17)
            permute_dims17: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_1_down_weight, axes=None)
            matmul11: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul11, permute_dims17, out_dtype=None)
            add7: R.Tensor((1, s, 64), dtype="float32") = R.add(add6, matmul11)
            rms_norm4: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add7, layers_2_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims18: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_2_qkv_weight, axes=None)
            matmul12: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm4, permute_dims18, out_dtype=None)
            split8: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul12, indices_or_sections=3, axis=-1)
            split_08: R.Tensor((1, s, 64), dtype="float32") = split8[0]
            split_18: R.Tensor((1, s, 64), dtype="float32") = split8[1]
            split_22: R.Tensor((1, s, 64), dtype="float32") = split8[2]
            reshape10: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_08, R.shape([1, s, 4, 16]))
            permute_dims19: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape10, axes=[0, 2, 1, 3])
            split9: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims19, indices_or_sections=2, axis=-1)
            split_09: R.Tensor((1, 4, s, 8), dtype="float32") = split9[0]
            split_19: R.Tensor((1, 4, s, 8), dtype="float32") = split9[1]
            mul12: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims19, cos)
            neg4: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_19)
            concat8: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg4, split_09), axis=-1)
            mul13: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat8, sin)
            add8: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul12, mul13)
            reshape11: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_18, R.shape([1, s, 4, 16]))
            permute_dims20: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape11, axes=[0, 2, 1, 3])
            split10: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims20, indices_or_sections=2, axis=-1)
            split_010: R.Tensor((1, 4, s, 8), dtype="float32") = split10[0]
            split_110: R.Tensor((1, 4, s, 8), dtype="float32") = split10[1]
            mul14: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims20, cos)
            neg5: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_110)
            concat9: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg5, split_010), axis=-1)
            mul15: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat9, sin)
            add9: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul14, mul15)
            reshape12: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_22, R.shape([1, s, 4, 16]))
            permute_dims21: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape12, axes=[0, 2, 1, 3])
            concat10: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_4, add9), axis=2)
            concat11: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_5, permute_dims21), axis=2)
            permute_dims22: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat10, axes=[0, 1, 3, 2])
            matmul13: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add8, permute_dims22, out_dtype=None)
            mul16: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul13, R.const(0.25, "float32"))
            softmax2: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul16, axis=-1)
            matmul14: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax2, concat11, out_dtype=None)
            permute_dims23: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul14, axes=[0, 2, 1, 3])
            reshape13: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims23, R.shape([1, s, 64]))
            permute_dims24: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_2_o_weight, axes=None)
            matmul15: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape13, permute_dims24, out_dtype=None)
            add10: R.Tensor((1, s, 64), dtype="float32") = R.add(add7, matmul15)
            rms_norm5: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add10, layers_2_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims25: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_2_gu_weight, axes=None)
            matmul16: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm5, permute_dims25, out_dtype=None)
            split11: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul16, indices_or_sections=2, axis=-1)
            split_011: R.Tensor((1, s, 172), dtype="float32") = split11[0]
            split_111: R.Tensor((1, s, 172), dtype="float32") = split11[1]
            silu2: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_011)
            mul17: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu2, split_111)
            permute_dims26: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_2_down_weight, axes=None)
            matmul17: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul17, permute_dims26, out_dtype=None)
            add11: R.Tensor((1, s, 64), dtype="float32") = R.add(add10, matmul17)
            rms_norm6: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add11, layers_3_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims27: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_3_qkv_weight, axes=None)
            matmul18: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm6, permute_dims27, out_dtype=None)
            split12: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul18, indices_or_sections=3, axis=-1)
            split_012: R.Tensor((1, s, 64), dtype="float32") = split12[0]
            split_112: R.Tensor((1, s, 64), dtype="float32") = split12[1]
            split_23: R.Tensor((1, s, 64), dtype="float32") = split12[2]
            reshape14: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_012, R.shape([1, s, 4, 16]))
            permute_dims28: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape14, axes=[0, 2, 1, 3])
            split13: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims28, indices_or_sections=2, axis=-1)
            split_013: R.Tensor((1, 4, s, 8), dtype="float32") = split13[0]
            split_113: R.Tensor((1, 4, s, 8), dtype="float32") = split13[1]
            mul18: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims28, cos)
            neg6: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_113)
            concat12: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg6, split_013), axis=-1)
            mul19: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat12, sin)
            add12: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul18, mul19)
            reshape15: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_112, R.shape([1, s, 4, 16]))
            permute_dims29: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape15, axes=[0, 2, 1, 3])
            split14: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims29, indices_or_sections=2, axis=-1)
            split_014: R.Tensor((1, 4, s, 8), dtype="float32") = split14[0]
            split_114: R.Tensor((1, 4, s, 8), dtype="float32") = split14[1]
            mul20: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims29, cos)
            neg7: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_114)
            concat13: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg7, split_014), axis=-1)
            mul21: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat13, sin)
            add13: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul20, mul21)
            reshape16: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_23, R.shape([1, s, 4, 16]))
            permute_dims30: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape16, axes=[0, 2, 1, 3])
            concat14: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_6, add13), axis=2)
            concat15: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_7, permute_dims30), axis=2)
            permute_dims31: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat14, axes=[0, 1, 3, 2])
            matmul19: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add12, permute_dims31, out_dtype=None)
            mul22: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul19, R.const(0.25, "float32"))
            softmax3: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul22, axis=-1)
            matmul20: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax3, concat15, out_dtype=None)
            permute_dims32: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul20, axes=[0, 2, 1, 3])
            reshape17: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims32, R.shape([1, s, 64]))
            permute_dims33: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_3_o_weight, axes=None)
            matmul21: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape17, permute_dims33, out_dtype=None)
            add14: R.Tensor((1, s, 64), dtype="float32") = R.add(add11, matmul21)
            rms_norm7: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add14, layers_3_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims34: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_3_gu_weight, axes=None)
            matmul22: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm7, permute_dims34, out_dtype=None)
            split15: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul22, indices_or_sections=2, axis=-1)
            split_015: R.Tensor((1, s, 172), dtype="float32") = split15[0]
            split_115: R.Tensor((1, s, 172), dtype="float32") = split15[1]
            silu3: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_015)
            mul23: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu3, split_115)
            permute_dims35: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_3_down_weight, axes=None)
            matmul23: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul23, permute_dims35, out_dtype=None)
            add15: R.Tensor((1, s, 64), dtype="float32") = R.add(add14, matmul23)
            rms_norm8: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add15, layers_4_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims36: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_4_qkv_weight, axes=None)
            matmul24: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm8, permute_dims36, out_dtype=None)
            split16: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul24, indices_or_sections=3, axis=-1)
            split_016: R.Tensor((1, s, 64), dtype="float32") = split16[0]
            split_116: R.Tensor((1, s, 64), dtype="float32") = split16[1]
            split_24: R.Tensor((1, s, 64), dtype="float32") = split16[2]
            reshape18: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_016, R.shape([1, s, 4, 16]))
            permute_dims37: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape18, axes=[0, 2, 1, 3])
            split17: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims37, indices_or_sections=2, axis=-1)
            split_017: R.Tensor((1, 4, s, 8), dtype="float32") = split17[0]
            split_117: R.Tensor((1, 4, s, 8), dtype="float32") = split17[1]
            mul24: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims37, cos)
            neg8: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_117)
            concat16: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg8, split_017), axis=-1)
            mul25: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat16, sin)
            add16: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul24, mul25)
            reshape19: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_116, R.shape([1, s, 4, 16]))
            permute_dims38: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape19, axes=[0, 2, 1, 3])
            split18: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims38, indices_or_sections=2, axis=-1)
            split_018: R.Tensor((1, 4, s, 8), dtype="float32") = split18[0]
            split_118: R.Tensor((1, 4, s, 8), dtype="float32") = split18[1]
            mul26: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims38, cos)
            neg9: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_118)
            concat17: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg9, split_018), axis=-1)
            mul27: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat17, sin)
            add17: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul26, mul27)
            reshape20: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_24, R.shape([1, s, 4, 16]))
            permute_dims39: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape20, axes=[0, 2, 1, 3])
            concat18: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_8, add17), axis=2)
            concat19: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_9, permute_dims39), axis=2)
            permute_dims40: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat18, axes=[0, 1, 3, 2])
            matmul25: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add16, permute_dims40, out_dtype=None)
            mul28: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul25, R.const(0.25, "float32"))
            softmax4: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul28, axis=-1)
            matmul26: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax4, concat19, out_dtype=None)
            permute_dims41: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul26, axes=[0, 2, 1, 3])
            reshape21: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims41, R.shape([1, s, 64]))
            permute_dims42: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_4_o_weight, axes=None)
            matmul27: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape21, permute_dims42, out_dtype=None)
            add18: R.Tensor((1, s, 64), dtype="float32") = R.add(add15, matmul27)
            rms_norm9: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add18, layers_4_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims43: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_4_gu_weight, axes=None)
            matmul28: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm9, permute_dims43, out_dtype=None)
            split19: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul28, indices_or_sections=2, axis=-1)
            split_019: R.Tensor((1, s, 172), dtype="float32") = split19[0]
            split_119: R.Tensor((1, s, 172), dtype="float32") = split19[1]
            silu4: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_019)
            mul29: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu4, split_119)
            permute_dims44: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_4_down_weight, axes=None)
            matmul29: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul29, permute_dims44, out_dtype=None)
            add19: R.Tensor((1, s, 64), dtype="float32") = R.add(add18, matmul29)
            rms_norm10: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add19, layers_5_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims45: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_5_qkv_weight, axes=None)
            matmul30: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm10, permute_dims45, out_dtype=None)
            split20: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul30, indices_or_sections=3, axis=-1)
            split_020: R.Tensor((1, s, 64), dtype="float32") = split20[0]
            split_120: R.Tensor((1, s, 64), dtype="float32") = split20[1]
            split_25: R.Tensor((1, s, 64), dtype="float32") = split20[2]
            reshape22: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_020, R.shape([1, s, 4, 16]))
            permute_dims46: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape22, axes=[0, 2, 1, 3])
            split21: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims46, indices_or_sections=2, axis=-1)
            split_021: R.Tensor((1, 4, s, 8), dtype="float32") = split21[0]
            split_121: R.Tensor((1, 4, s, 8), dtype="float32") = split21[1]
            mul30: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims46, cos)
            neg10: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_121)
            concat20: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg10, split_021), axis=-1)
            mul31: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat20, sin)
            add20: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul30, mul31)
            reshape23: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_120, R.shape([1, s, 4, 16]))
            permute_dims47: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape23, axes=[0, 2, 1, 3])
            split22: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims47, indices_or_sections=2, axis=-1)
            split_022: R.Tensor((1, 4, s, 8), dtype="float32") = split22[0]
            split_122: R.Tensor((1, 4, s, 8), dtype="float32") = split22[1]
            mul32: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims47, cos)
            neg11: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_122)
            concat21: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg11, split_022), axis=-1)
            mul33: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat21, sin)
            add21: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul32, mul33)
            reshape24: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_25, R.shape([1, s, 4, 16]))
            permute_dims48: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape24, axes=[0, 2, 1, 3])
            concat22: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_10, add21), axis=2)
            concat23: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_11, permute_dims48), axis=2)
            permute_dims49: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat22, axes=[0, 1, 3, 2])
            matmul31: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add20, permute_dims49, out_dtype=None)
            mul34: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul31, R.const(0.25, "float32"))
            softmax5: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul34, axis=-1)
            matmul32: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax5, concat23, out_dtype=None)
            permute_dims50: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul32, axes=[0, 2, 1, 3])
            reshape25: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims50, R.shape([1, s, 64]))
            permute_dims51: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_5_o_weight, axes=None)
            matmul33: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape25, permute_dims51, out_dtype=None)
            add22: R.Tensor((1, s, 64), dtype="float32") = R.add(add19, matmul33)
            rms_norm11: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add22, layers_5_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims52: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_5_gu_weight, axes=None)
            matmul34: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm11, permute_dims52, out_dtype=None)
            split23: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul34, indices_or_sections=2, axis=-1)
            split_023: R.Tensor((1, s, 172), dtype="float32") = split23[0]
            split_123: R.Tensor((1, s, 172), dtype="float32") = split23[1]
            silu5: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_023)
            mul35: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu5, split_123)
            permute_dims53: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_5_down_weight, axes=None)
            matmul35: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul35, permute_dims53, out_dtype=None)
            add23: R.Tensor((1, s, 64), dtype="float32") = R.add(add22, matmul35)
            rms_norm12: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add23, layers_6_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims54: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_6_qkv_weight, axes=None)
            matmul36: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm12, permute_dims54, out_dtype=None)
            split24: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul36, indices_or_sections=3, axis=-1)
            split_024: R.Tensor((1, s, 64), dtype="float32") = split24[0]
            split_124: R.Tensor((1, s, 64), dtype="float32") = split24[1]
            split_26: R.Tensor((1, s, 64), dtype="float32") = split24[2]
            reshape26: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_024, R.shape([1, s, 4, 16]))
            permute_dims55: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape26, axes=[0, 2, 1, 3])
            split25: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims55, indices_or_sections=2, axis=-1)
            split_025: R.Tensor((1, 4, s, 8), dtype="float32") = split25[0]
            split_125: R.Tensor((1, 4, s, 8), dtype="float32") = split25[1]
            mul36: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims55, cos)
            neg12: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_125)
            concat24: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg12, split_025), axis=-1)
            mul37: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat24, sin)
            add24: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul36, mul37)
            reshape27: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_124, R.shape([1, s, 4, 16]))
            permute_dims56: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape27, axes=[0, 2, 1, 3])
            split26: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims56, indices_or_sections=2, axis=-1)
            split_026: R.Tensor((1, 4, s, 8), dtype="float32") = split26[0]
            split_126: R.Tensor((1, 4, s, 8), dtype="float32") = split26[1]
            mul38: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims56, cos)
            neg13: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_126)
            concat25: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg13, split_026), axis=-1)
            mul39: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat25, sin)
            add25: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul38, mul39)
            reshape28: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_26, R.shape([1, s, 4, 16]))
            permute_dims57: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape28, axes=[0, 2, 1, 3])
            concat26: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_12, add25), axis=2)
            concat27: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_13, permute_dims57), axis=2)
            permute_dims58: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat26, axes=[0, 1, 3, 2])
            matmul37: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add24, permute_dims58, out_dtype=None)
            mul40: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul37, R.const(0.25, "float32"))
            softmax6: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul40, axis=-1)
            matmul38: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax6, concat27, out_dtype=None)
            permute_dims59: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul38, axes=[0, 2, 1, 3])
            reshape29: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims59, R.shape([1, s, 64]))
            permute_dims60: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_6_o_weight, axes=None)
            matmul39: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape29, permute_dims60, out_dtype=None)
            add26: R.Tensor((1, s, 64), dtype="float32") = R.add(add23, matmul39)
            rms_norm13: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add26, layers_6_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims61: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_6_gu_weight, axes=None)
            matmul40: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm13, permute_dims61, out_dtype=None)
            split27: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul40, indices_or_sections=2, axis=-1)
            split_027: R.Tensor((1, s, 172), dtype="float32") = split27[0]
            split_127: R.Tensor((1, s, 172), dtype="float32") = split27[1]
            silu6: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_027)
            mul41: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu6, split_127)
            permute_dims62: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_6_down_weight, axes=None)
            matmul41: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul41, permute_dims62, out_dtype=None)
            add27: R.Tensor((1, s, 64), dtype="float32") = R.add(add26, matmul41)
            rms_norm14: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add27, layers_7_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims63: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_7_qkv_weight, axes=None)
            matmul42: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm14, permute_dims63, out_dtype=None)
            split28: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul42, indices_or_sections=3, axis=-1)
            split_028: R.Tensor((1, s, 64), dtype="float32") = split28[0]
            split_128: R.Tensor((1, s, 64), dtype="float32") = split28[1]
            split_27: R.Tensor((1, s, 64), dtype="float32") = split28[2]
            reshape30: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_028, R.shape([1, s, 4, 16]))
            permute_dims64: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape30, axes=[0, 2, 1, 3])
            split29: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims64, indices_or_sections=2, axis=-1)
            split_029: R.Tensor((1, 4, s, 8), dtype="float32") = split29[0]
            split_129: R.Tensor((1, 4, s, 8), dtype="float32") = split29[1]
            mul42: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims64, cos)
            neg14: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_129)
            concat28: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg14, split_029), axis=-1)
            mul43: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat28, sin)
            add28: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul42, mul43)
            reshape31: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_128, R.shape([1, s, 4, 16]))
            permute_dims65: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape31, axes=[0, 2, 1, 3])
            split30: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims65, indices_or_sections=2, axis=-1)
            split_030: R.Tensor((1, 4, s, 8), dtype="float32") = split30[0]
            split_130: R.Tensor((1, 4, s, 8), dtype="float32") = split30[1]
            mul44: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims65, cos)
            neg15: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_130)
            concat29: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg15, split_030), axis=-1)
            mul45: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat29, sin)
            add29: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul44, mul45)
            reshape32: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_27, R.shape([1, s, 4, 16]))
            permute_dims66: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape32, axes=[0, 2, 1, 3])
            concat30: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_14, add29), axis=2)
            concat31: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_15, permute_dims66), axis=2)
            permute_dims67: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat30, axes=[0, 1, 3, 2])
            matmul43: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add28, permute_dims67, out_dtype=None)
            mul46: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul43, R.const(0.25, "float32"))
            softmax7: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul46, axis=-1)
            matmul44: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax7, concat31, out_dtype=None)
            permute_dims68: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul44, axes=[0, 2, 1, 3])
            reshape33: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims68, R.shape([1, s, 64]))
            permute_dims69: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_7_o_weight, axes=None)
            matmul45: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape33, permute_dims69, out_dtype=None)
            add30: R.Tensor((1, s, 64), dtype="float32") = R.add(add27, matmul45)
            rms_norm15: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add30, layers_7_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims70: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_7_gu_weight, axes=None)
            matmul46: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm15, permute_dims70, out_dtype=None)
            split31: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul46, indices_or_sections=2, axis=-1)
            split_031: R.Tensor((1, s, 172), dtype="float32") = split31[0]
            split_131: R.Tensor((1, s, 172), dtype="float32") = split31[1]
            silu7: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_031)
            mul47: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu7, split_131)
            permute_dims71: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_7_down_weight, axes=None)
            matmul47: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul47, permute_dims71, out_dtype=None)
            add31: R.Tensor((1, s, 64), dtype="float32") = R.add(add30, matmul47)
            rms_norm16: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add31, layers_8_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims72: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_8_qkv_weight, axes=None)
            matmul48: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm16, permute_dims72, out_dtype=None)
            split32: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul48, indices_or_sections=3, axis=-1)
            split_032: R.Tensor((1, s, 64), dtype="float32") = split32[0]
            split_132: R.Tensor((1, s, 64), dtype="float32") = split32[1]
            split_28: R.Tensor((1, s, 64), dtype="float32") = split32[2]
            reshape34: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_032, R.shape([1, s, 4, 16]))
            permute_dims73: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape34, axes=[0, 2, 1, 3])
            split33: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims73, indices_or_sections=2, axis=-1)
            split_033: R.Tensor((1, 4, s, 8), dtype="float32") = split33[0]
            split_133: R.Tensor((1, 4, s, 8), dtype="float32") = split33[1]
            mul48: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims73, cos)
            neg16: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_133)
            concat32: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg16, split_033), axis=-1)
            mul49: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat32, sin)
            add32: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul48, mul49)
            reshape35: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_132, R.shape([1, s, 4, 16]))
            permute_dims74: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape35, axes=[0, 2, 1, 3])
            split34: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims74, indices_or_sections=2, axis=-1)
            split_034: R.Tensor((1, 4, s, 8), dtype="float32") = split34[0]
            split_134: R.Tensor((1, 4, s, 8), dtype="float32") = split34[1]
            mul50: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims74, cos)
            neg17: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_134)
            concat33: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg17, split_034), axis=-1)
            mul51: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat33, sin)
            add33: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul50, mul51)
            reshape36: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_28, R.shape([1, s, 4, 16]))
            permute_dims75: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape36, axes=[0, 2, 1, 3])
            concat34: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_16, add33), axis=2)
            concat35: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_17, permute_dims75), axis=2)
            permute_dims76: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat34, axes=[0, 1, 3, 2])
            matmul49: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add32, permute_dims76, out_dtype=None)
            mul52: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul49, R.const(0.25, "float32"))
            softmax8: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul52, axis=-1)
            matmul50: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax8, concat35, out_dtype=None)
            permute_dims77: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul50, axes=[0, 2, 1, 3])
            reshape37: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims77, R.shape([1, s, 64]))
            permute_dims78: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_8_o_weight, axes=None)
            matmul51: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape37, permute_dims78, out_dtype=None)
            add34: R.Tensor((1, s, 64), dtype="float32") = R.add(add31, matmul51)
            rms_norm17: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add34, layers_8_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims79: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_8_gu_weight, axes=None)
            matmul52: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm17, permute_dims79, out_dtype=None)
            split35: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul52, indices_or_sections=2, axis=-1)
            split_035: R.Tensor((1, s, 172), dtype="float32") = split35[0]
            split_135: R.Tensor((1, s, 172), dtype="float32") = split35[1]
            silu8: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_035)
            mul53: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu8, split_135)
            permute_dims80: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_8_down_weight, axes=None)
            matmul53: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul53, permute_dims80, out_dtype=None)
            add35: R.Tensor((1, s, 64), dtype="float32") = R.add(add34, matmul53)
            rms_norm18: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add35, layers_9_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims81: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_9_qkv_weight, axes=None)
            matmul54: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm18, permute_dims81, out_dtype=None)
            split36: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul54, indices_or_sections=3, axis=-1)
            split_036: R.Tensor((1, s, 64), dtype="float32") = split36[0]
            split_136: R.Tensor((1, s, 64), dtype="float32") = split36[1]
            split_29: R.Tensor((1, s, 64), dtype="float32") = split36[2]
            reshape38: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_036, R.shape([1, s, 4, 16]))
            permute_dims82: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape38, axes=[0, 2, 1, 3])
            split37: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims82, indices_or_sections=2, axis=-1)
            split_037: R.Tensor((1, 4, s, 8), dtype="float32") = split37[0]
            split_137: R.Tensor((1, 4, s, 8), dtype="float32") = split37[1]
            mul54: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims82, cos)
            neg18: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_137)
            concat36: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg18, split_037), axis=-1)
            mul55: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat36, sin)
            add36: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul54, mul55)
            reshape39: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_136, R.shape([1, s, 4, 16]))
            permute_dims83: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape39, axes=[0, 2, 1, 3])
            split38: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims83, indices_or_sections=2, axis=-1)
            split_038: R.Tensor((1, 4, s, 8), dtype="float32") = split38[0]
            split_138: R.Tensor((1, 4, s, 8), dtype="float32") = split38[1]
            mul56: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims83, cos)
            neg19: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_138)
            concat37: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg19, split_038), axis=-1)
            mul57: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat37, sin)
            add37: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul56, mul57)
            reshape40: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_29, R.shape([1, s, 4, 16]))
            permute_dims84: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape40, axes=[0, 2, 1, 3])
            concat38: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_18, add37), axis=2)
            concat39: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_19, permute_dims84), axis=2)
            permute_dims85: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat38, axes=[0, 1, 3, 2])
            matmul55: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add36, permute_dims85, out_dtype=None)
            mul58: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul55, R.const(0.25, "float32"))
            softmax9: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul58, axis=-1)
            matmul56: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax9, concat39, out_dtype=None)
            permute_dims86: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul56, axes=[0, 2, 1, 3])
            reshape41: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims86, R.shape([1, s, 64]))
            permute_dims87: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_9_o_weight, axes=None)
            matmul57: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape41, permute_dims87, out_dtype=None)
            add38: R.Tensor((1, s, 64), dtype="float32") = R.add(add35, matmul57)
            rms_norm19: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add38, layers_9_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims88: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_9_gu_weight, axes=None)
            matmul58: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm19, permute_dims88, out_dtype=None)
            split39: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul58, indices_or_sections=2, axis=-1)
            split_039: R.Tensor((1, s, 172), dtype="float32") = split39[0]
            split_139: R.Tensor((1, s, 172), dtype="float32") = split39[1]
            silu9: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_039)
            mul59: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu9, split_139)
            permute_dims89: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_9_down_weight, axes=None)
            matmul59: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul59, permute_dims89, out_dtype=None)
            add39: R.Tensor((1, s, 64), dtype="float32") = R.add(add38, matmul59)
            rms_norm20: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add39, layers_10_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims90: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_10_qkv_weight, axes=None)
            matmul60: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm20, permute_dims90, out_dtype=None)
            split40: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul60, indices_or_sections=3, axis=-1)
            split_040: R.Tensor((1, s, 64), dtype="float32") = split40[0]
            split_140: R.Tensor((1, s, 64), dtype="float32") = split40[1]
            split_210: R.Tensor((1, s, 64), dtype="float32") = split40[2]
            reshape42: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_040, R.shape([1, s, 4, 16]))
            permute_dims91: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape42, axes=[0, 2, 1, 3])
            split41: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims91, indices_or_sections=2, axis=-1)
            split_041: R.Tensor((1, 4, s, 8), dtype="float32") = split41[0]
            split_141: R.Tensor((1, 4, s, 8), dtype="float32") = split41[1]
            mul60: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims91, cos)
            neg20: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_141)
            concat40: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg20, split_041), axis=-1)
            mul61: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat40, sin)
            add40: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul60, mul61)
            reshape43: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_140, R.shape([1, s, 4, 16]))
            permute_dims92: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape43, axes=[0, 2, 1, 3])
            split42: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims92, indices_or_sections=2, axis=-1)
            split_042: R.Tensor((1, 4, s, 8), dtype="float32") = split42[0]
            split_142: R.Tensor((1, 4, s, 8), dtype="float32") = split42[1]
            mul62: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims92, cos)
            neg21: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_142)
            concat41: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg21, split_042), axis=-1)
            mul63: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat41, sin)
            add41: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul62, mul63)
            reshape44: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_210, R.shape([1, s, 4, 16]))
            permute_dims93: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape44, axes=[0, 2, 1, 3])
            concat42: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_20, add41), axis=2)
            concat43: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_21, permute_dims93), axis=2)
            permute_dims94: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat42, axes=[0, 1, 3, 2])
            matmul61: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add40, permute_dims94, out_dtype=None)
            mul64: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul61, R.const(0.25, "float32"))
            softmax10: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul64, axis=-1)
            matmul62: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax10, concat43, out_dtype=None)
            permute_dims95: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul62, axes=[0, 2, 1, 3])
            reshape45: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims95, R.shape([1, s, 64]))
            permute_dims96: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_10_o_weight, axes=None)
            matmul63: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape45, permute_dims96, out_dtype=None)
            add42: R.Tensor((1, s, 64), dtype="float32") = R.add(add39, matmul63)
            rms_norm21: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add42, layers_10_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims97: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_10_gu_weight, axes=None)
            matmul64: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm21, permute_dims97, out_dtype=None)
            split43: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul64, indices_or_sections=2, axis=-1)
            split_043: R.Tensor((1, s, 172), dtype="float32") = split43[0]
            split_143: R.Tensor((1, s, 172), dtype="float32") = split43[1]
            silu10: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_043)
            mul65: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu10, split_143)
            permute_dims98: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_10_down_weight, axes=None)
            matmul65: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul65, permute_dims98, out_dtype=None)
            add43: R.Tensor((1, s, 64), dtype="float32") = R.add(add42, matmul65)
            rms_norm22: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add43, layers_11_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims99: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_11_qkv_weight, axes=None)
            matmul66: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm22, permute_dims99, out_dtype=None)
            split44: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul66, indices_or_sections=3, axis=-1)
            split_044: R.Tensor((1, s, 64), dtype="float32") = split44[0]
            split_144: R.Tensor((1, s, 64), dtype="float32") = split44[1]
            split_211: R.Tensor((1, s, 64), dtype="float32") = split44[2]
            reshape46: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_044, R.shape([1, s, 4, 16]))
            permute_dims100: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape46, axes=[0, 2, 1, 3])
            split45: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims100, indices_or_sections=2, axis=-1)
            split_045: R.Tensor((1, 4, s, 8), dtype="float32") = split45[0]
            split_145: R.Tensor((1, 4, s, 8), dtype="float32") = split45[1]
            mul66: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims100, cos)
            neg22: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_145)
            concat44: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg22, split_045), axis=-1)
            mul67: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat44, sin)
            add44: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul66, mul67)
            reshape47: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_144, R.shape([1, s, 4, 16]))
            permute_dims101: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape47, axes=[0, 2, 1, 3])
            split46: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims101, indices_or_sections=2, axis=-1)
            split_046: R.Tensor((1, 4, s, 8), dtype="float32") = split46[0]
            split_146: R.Tensor((1, 4, s, 8), dtype="float32") = split46[1]
            mul68: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims101, cos)
            neg23: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_146)
            concat45: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg23, split_046), axis=-1)
            mul69: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat45, sin)
            add45: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul68, mul69)
            reshape48: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_211, R.shape([1, s, 4, 16]))
            permute_dims102: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape48, axes=[0, 2, 1, 3])
            concat46: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_22, add45), axis=2)
            concat47: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_23, permute_dims102), axis=2)
            permute_dims103: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat46, axes=[0, 1, 3, 2])
            matmul67: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add44, permute_dims103, out_dtype=None)
            mul70: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul67, R.const(0.25, "float32"))
            softmax11: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul70, axis=-1)
            matmul68: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax11, concat47, out_dtype=None)
            permute_dims104: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul68, axes=[0, 2, 1, 3])
            reshape49: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims104, R.shape([1, s, 64]))
            permute_dims105: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_11_o_weight, axes=None)
            matmul69: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape49, permute_dims105, out_dtype=None)
            add46: R.Tensor((1, s, 64), dtype="float32") = R.add(add43, matmul69)
            rms_norm23: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add46, layers_11_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims106: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_11_gu_weight, axes=None)
            matmul70: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm23, permute_dims106, out_dtype=None)
            split47: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul70, indices_or_sections=2, axis=-1)
            split_047: R.Tensor((1, s, 172), dtype="float32") = split47[0]
            split_147: R.Tensor((1, s, 172), dtype="float32") = split47[1]
            silu11: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_047)
            mul71: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu11, split_147)
            permute_dims107: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_11_down_weight, axes=None)
            matmul71: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul71, permute_dims107, out_dtype=None)
            add47: R.Tensor((1, s, 64), dtype="float32") = R.add(add46, matmul71)
            rms_norm24: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add47, layers_12_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims108: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_12_qkv_weight, axes=None)
            matmul72: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm24, permute_dims108, out_dtype=None)
            split48: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul72, indices_or_sections=3, axis=-1)
            split_048: R.Tensor((1, s, 64), dtype="float32") = split48[0]
            split_148: R.Tensor((1, s, 64), dtype="float32") = split48[1]
            split_212: R.Tensor((1, s, 64), dtype="float32") = split48[2]
            reshape50: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_048, R.shape([1, s, 4, 16]))
            permute_dims109: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape50, axes=[0, 2, 1, 3])
            split49: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims109, indices_or_sections=2, axis=-1)
            split_049: R.Tensor((1, 4, s, 8), dtype="float32") = split49[0]
            split_149: R.Tensor((1, 4, s, 8), dtype="float32") = split49[1]
            mul72: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims109, cos)
            neg24: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_149)
            concat48: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg24, split_049), axis=-1)
            mul73: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat48, sin)
            add48: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul72, mul73)
            reshape51: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_148, R.shape([1, s, 4, 16]))
            permute_dims110: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape51, axes=[0, 2, 1, 3])
            split50: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims110, indices_or_sections=2, axis=-1)
            split_050: R.Tensor((1, 4, s, 8), dtype="float32") = split50[0]
            split_150: R.Tensor((1, 4, s, 8), dtype="float32") = split50[1]
            mul74: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims110, cos)
            neg25: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_150)
            concat49: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg25, split_050), axis=-1)
            mul75: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat49, sin)
            add49: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul74, mul75)
            reshape52: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_212, R.shape([1, s, 4, 16]))
            permute_dims111: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape52, axes=[0, 2, 1, 3])
            concat50: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_24, add49), axis=2)
            concat51: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_25, permute_dims111), axis=2)
            permute_dims112: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat50, axes=[0, 1, 3, 2])
            matmul73: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add48, permute_dims112, out_dtype=None)
            mul76: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul73, R.const(0.25, "float32"))
            softmax12: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul76, axis=-1)
            matmul74: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax12, concat51, out_dtype=None)
            permute_dims113: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul74, axes=[0, 2, 1, 3])
            reshape53: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims113, R.shape([1, s, 64]))
            permute_dims114: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_12_o_weight, axes=None)
            matmul75: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape53, permute_dims114, out_dtype=None)
            add50: R.Tensor((1, s, 64), dtype="float32") = R.add(add47, matmul75)
            rms_norm25: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add50, layers_12_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims115: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_12_gu_weight, axes=None)
            matmul76: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm25, permute_dims115, out_dtype=None)
            split51: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul76, indices_or_sections=2, axis=-1)
            split_051: R.Tensor((1, s, 172), dtype="float32") = split51[0]
            split_151: R.Tensor((1, s, 172), dtype="float32") = split51[1]
            silu12: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_051)
            mul77: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu12, split_151)
            permute_dims116: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_12_down_weight, axes=None)
            matmul77: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul77, permute_dims116, out_dtype=None)
            add51: R.Tensor((1, s, 64), dtype="float32") = R.add(add50, matmul77)
            rms_norm26: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add51, layers_13_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims117: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_13_qkv_weight, axes=None)
            matmul78: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm26, permute_dims117, out_dtype=None)
            split52: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul78, indices_or_sections=3, axis=-1)
            split_052: R.Tensor((1, s, 64), dtype="float32") = split52[0]
            split_152: R.Tensor((1, s, 64), dtype="float32") = split52[1]
            split_213: R.Tensor((1, s, 64), dtype="float32") = split52[2]
            reshape54: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_052, R.shape([1, s, 4, 16]))
            permute_dims118: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape54, axes=[0, 2, 1, 3])
            split53: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims118, indices_or_sections=2, axis=-1)
            split_053: R.Tensor((1, 4, s, 8), dtype="float32") = split53[0]
            split_153: R.Tensor((1, 4, s, 8), dtype="float32") = split53[1]
            mul78: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims118, cos)
            neg26: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_153)
            concat52: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg26, split_053), axis=-1)
            mul79: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat52, sin)
            add52: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul78, mul79)
            reshape55: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_152, R.shape([1, s, 4, 16]))
            permute_dims119: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape55, axes=[0, 2, 1, 3])
            split54: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims119, indices_or_sections=2, axis=-1)
            split_054: R.Tensor((1, 4, s, 8), dtype="float32") = split54[0]
            split_154: R.Tensor((1, 4, s, 8), dtype="float32") = split54[1]
            mul80: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims119, cos)
            neg27: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_154)
            concat53: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg27, split_054), axis=-1)
            mul81: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat53, sin)
            add53: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul80, mul81)
            reshape56: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_213, R.shape([1, s, 4, 16]))
            permute_dims120: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape56, axes=[0, 2, 1, 3])
            concat54: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_26, add53), axis=2)
            concat55: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_27, permute_dims120), axis=2)
            permute_dims121: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat54, axes=[0, 1, 3, 2])
            matmul79: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add52, permute_dims121, out_dtype=None)
            mul82: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul79, R.const(0.25, "float32"))
            softmax13: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul82, axis=-1)
            matmul80: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax13, concat55, out_dtype=None)
            permute_dims122: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul80, axes=[0, 2, 1, 3])
            reshape57: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims122, R.shape([1, s, 64]))
            permute_dims123: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_13_o_weight, axes=None)
            matmul81: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape57, permute_dims123, out_dtype=None)
            add54: R.Tensor((1, s, 64), dtype="float32") = R.add(add51, matmul81)
            rms_norm27: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add54, layers_13_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims124: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_13_gu_weight, axes=None)
            matmul82: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm27, permute_dims124, out_dtype=None)
            split55: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul82, indices_or_sections=2, axis=-1)
            split_055: R.Tensor((1, s, 172), dtype="float32") = split55[0]
            split_155: R.Tensor((1, s, 172), dtype="float32") = split55[1]
            silu13: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_055)
            mul83: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu13, split_155)
            permute_dims125: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_13_down_weight, axes=None)
            matmul83: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul83, permute_dims125, out_dtype=None)
            add55: R.Tensor((1, s, 64), dtype="float32") = R.add(add54, matmul83)
            rms_norm28: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add55, layers_14_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims126: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_14_qkv_weight, axes=None)
            matmul84: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm28, permute_dims126, out_dtype=None)
            split56: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul84, indices_or_sections=3, axis=-1)
            split_056: R.Tensor((1, s, 64), dtype="float32") = split56[0]
            split_156: R.Tensor((1, s, 64), dtype="float32") = split56[1]
            split_214: R.Tensor((1, s, 64), dtype="float32") = split56[2]
            reshape58: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_056, R.shape([1, s, 4, 16]))
            permute_dims127: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape58, axes=[0, 2, 1, 3])
            split57: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims127, indices_or_sections=2, axis=-1)
            split_057: R.Tensor((1, 4, s, 8), dtype="float32") = split57[0]
            split_157: R.Tensor((1, 4, s, 8), dtype="float32") = split57[1]
            mul84: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims127, cos)
            neg28: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_157)
            concat56: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg28, split_057), axis=-1)
            mul85: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat56, sin)
            add56: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul84, mul85)
            reshape59: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_156, R.shape([1, s, 4, 16]))
            permute_dims128: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape59, axes=[0, 2, 1, 3])
            split58: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims128, indices_or_sections=2, axis=-1)
            split_058: R.Tensor((1, 4, s, 8), dtype="float32") = split58[0]
            split_158: R.Tensor((1, 4, s, 8), dtype="float32") = split58[1]
            mul86: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims128, cos)
            neg29: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_158)
            concat57: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg29, split_058), axis=-1)
            mul87: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat57, sin)
            add57: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul86, mul87)
            reshape60: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_214, R.shape([1, s, 4, 16]))
            permute_dims129: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape60, axes=[0, 2, 1, 3])
            concat58: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_28, add57), axis=2)
            concat59: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_29, permute_dims129), axis=2)
            permute_dims130: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat58, axes=[0, 1, 3, 2])
            matmul85: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add56, permute_dims130, out_dtype=None)
            mul88: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul85, R.const(0.25, "float32"))
            softmax14: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul88, axis=-1)
            matmul86: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax14, concat59, out_dtype=None)
            permute_dims131: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul86, axes=[0, 2, 1, 3])
            reshape61: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims131, R.shape([1, s, 64]))
            permute_dims132: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_14_o_weight, axes=None)
            matmul87: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape61, permute_dims132, out_dtype=None)
            add58: R.Tensor((1, s, 64), dtype="float32") = R.add(add55, matmul87)
            rms_norm29: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add58, layers_14_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims133: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_14_gu_weight, axes=None)
            matmul88: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm29, permute_dims133, out_dtype=None)
            split59: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul88, indices_or_sections=2, axis=-1)
            split_059: R.Tensor((1, s, 172), dtype="float32") = split59[0]
            split_159: R.Tensor((1, s, 172), dtype="float32") = split59[1]
            silu14: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_059)
            mul89: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu14, split_159)
            permute_dims134: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_14_down_weight, axes=None)
            matmul89: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul89, permute_dims134, out_dtype=None)
            add59: R.Tensor((1, s, 64), dtype="float32") = R.add(add58, matmul89)
            rms_norm30: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add59, layers_15_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims135: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_15_qkv_weight, axes=None)
            matmul90: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm30, permute_dims135, out_dtype=None)
            split60: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul90, indices_or_sections=3, axis=-1)
            split_060: R.Tensor((1, s, 64), dtype="float32") = split60[0]
            split_160: R.Tensor((1, s, 64), dtype="float32") = split60[1]
            split_215: R.Tensor((1, s, 64), dtype="float32") = split60[2]
            reshape62: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_060, R.shape([1, s, 4, 16]))
            permute_dims136: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape62, axes=[0, 2, 1, 3])
            split61: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims136, indices_or_sections=2, axis=-1)
            split_061: R.Tensor((1, 4, s, 8), dtype="float32") = split61[0]
            split_161: R.Tensor((1, 4, s, 8), dtype="float32") = split61[1]
            mul90: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims136, cos)
            neg30: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_161)
            concat60: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg30, split_061), axis=-1)
            mul91: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat60, sin)
            add60: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul90, mul91)
            reshape63: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_160, R.shape([1, s, 4, 16]))
            permute_dims137: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape63, axes=[0, 2, 1, 3])
            split62: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims137, indices_or_sections=2, axis=-1)
            split_062: R.Tensor((1, 4, s, 8), dtype="float32") = split62[0]
            split_162: R.Tensor((1, 4, s, 8), dtype="float32") = split62[1]
            mul92: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims137, cos)
            neg31: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_162)
            concat61: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg31, split_062), axis=-1)
            mul93: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat61, sin)
            add61: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul92, mul93)
            reshape64: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_215, R.shape([1, s, 4, 16]))
            permute_dims138: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape64, axes=[0, 2, 1, 3])
            concat62: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_30, add61), axis=2)
            concat63: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_31, permute_dims138), axis=2)
            permute_dims139: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat62, axes=[0, 1, 3, 2])
            matmul91: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add60, permute_dims139, out_dtype=None)
            mul94: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul91, R.const(0.25, "float32"))
            softmax15: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul94, axis=-1)
            matmul92: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax15, concat63, out_dtype=None)
            permute_dims140: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul92, axes=[0, 2, 1, 3])
            reshape65: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims140, R.shape([1, s, 64]))
            permute_dims141: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_15_o_weight, axes=None)
            matmul93: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape65, permute_dims141, out_dtype=None)
            add62: R.Tensor((1, s, 64), dtype="float32") = R.add(add59, matmul93)
            rms_norm31: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add62, layers_15_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims142: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_15_gu_weight, axes=None)
            matmul94: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm31, permute_dims142, out_dtype=None)
            split63: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul94, indices_or_sections=2, axis=-1)
            split_063: R.Tensor((1, s, 172), dtype="float32") = split63[0]
            split_163: R.Tensor((1, s, 172), dtype="float32") = split63[1]
            silu15: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_063)
            mul95: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu15, split_163)
            permute_dims143: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_15_down_weight, axes=None)
            matmul95: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul95, permute_dims143, out_dtype=None)
            add63: R.Tensor((1, s, 64), dtype="float32") = R.add(add62, matmul95)
            rms_norm32: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add63, layers_16_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims144: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_16_qkv_weight, axes=None)
            matmul96: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm32, permute_dims144, out_dtype=None)
            split64: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul96, indices_or_sections=3, axis=-1)
            split_064: R.Tensor((1, s, 64), dtype="float32") = split64[0]
            split_164: R.Tensor((1, s, 64), dtype="float32") = split64[1]
            split_216: R.Tensor((1, s, 64), dtype="float32") = split64[2]
            reshape66: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_064, R.shape([1, s, 4, 16]))
            permute_dims145: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape66, axes=[0, 2, 1, 3])
            split65: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims145, indices_or_sections=2, axis=-1)
            split_065: R.Tensor((1, 4, s, 8), dtype="float32") = split65[0]
            split_165: R.Tensor((1, 4, s, 8), dtype="float32") = split65[1]
            mul96: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims145, cos)
            neg32: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_165)
            concat64: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg32, split_065), axis=-1)
            mul97: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat64, sin)
            add64: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul96, mul97)
            reshape67: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_164, R.shape([1, s, 4, 16]))
            permute_dims146: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape67, axes=[0, 2, 1, 3])
            split66: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims146, indices_or_sections=2, axis=-1)
            split_066: R.Tensor((1, 4, s, 8), dtype="float32") = split66[0]
            split_166: R.Tensor((1, 4, s, 8), dtype="float32") = split66[1]
            mul98: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims146, cos)
            neg33: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_166)
            concat65: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg33, split_066), axis=-1)
            mul99: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat65, sin)
            add65: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul98, mul99)
            reshape68: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_216, R.shape([1, s, 4, 16]))
            permute_dims147: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape68, axes=[0, 2, 1, 3])
            concat66: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_32, add65), axis=2)
            concat67: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_33, permute_dims147), axis=2)
            permute_dims148: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat66, axes=[0, 1, 3, 2])
            matmul97: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add64, permute_dims148, out_dtype=None)
            mul100: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul97, R.const(0.25, "float32"))
            softmax16: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul100, axis=-1)
            matmul98: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax16, concat67, out_dtype=None)
            permute_dims149: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul98, axes=[0, 2, 1, 3])
            reshape69: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims149, R.shape([1, s, 64]))
            permute_dims150: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_16_o_weight, axes=None)
            matmul99: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape69, permute_dims150, out_dtype=None)
            add66: R.Tensor((1, s, 64), dtype="float32") = R.add(add63, matmul99)
            rms_norm33: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add66, layers_16_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims151: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_16_gu_weight, axes=None)
            matmul100: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm33, permute_dims151, out_dtype=None)
            split67: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul100, indices_or_sections=2, axis=-1)
            split_067: R.Tensor((1, s, 172), dtype="float32") = split67[0]
            split_167: R.Tensor((1, s, 172), dtype="float32") = split67[1]
            silu16: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_067)
            mul101: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu16, split_167)
            permute_dims152: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_16_down_weight, axes=None)
            matmul101: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul101, permute_dims152, out_dtype=None)
            add67: R.Tensor((1, s, 64), dtype="float32") = R.add(add66, matmul101)
            rms_norm34: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add67, layers_17_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims153: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_17_qkv_weight, axes=None)
            matmul102: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm34, permute_dims153, out_dtype=None)
            split68: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul102, indices_or_sections=3, axis=-1)
            split_068: R.Tensor((1, s, 64), dtype="float32") = split68[0]
            split_168: R.Tensor((1, s, 64), dtype="float32") = split68[1]
            split_217: R.Tensor((1, s, 64), dtype="float32") = split68[2]
            reshape70: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_068, R.shape([1, s, 4, 16]))
            permute_dims154: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape70, axes=[0, 2, 1, 3])
            split69: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims154, indices_or_sections=2, axis=-1)
            split_069: R.Tensor((1, 4, s, 8), dtype="float32") = split69[0]
            split_169: R.Tensor((1, 4, s, 8), dtype="float32") = split69[1]
            mul102: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims154, cos)
            neg34: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_169)
            concat68: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg34, split_069), axis=-1)
            mul103: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat68, sin)
            add68: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul102, mul103)
            reshape71: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_168, R.shape([1, s, 4, 16]))
            permute_dims155: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape71, axes=[0, 2, 1, 3])
            split70: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims155, indices_or_sections=2, axis=-1)
            split_070: R.Tensor((1, 4, s, 8), dtype="float32") = split70[0]
            split_170: R.Tensor((1, 4, s, 8), dtype="float32") = split70[1]
            mul104: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims155, cos)
            neg35: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_170)
            concat69: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg35, split_070), axis=-1)
            mul105: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat69, sin)
            add69: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul104, mul105)
            reshape72: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_217, R.shape([1, s, 4, 16]))
            permute_dims156: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape72, axes=[0, 2, 1, 3])
            concat70: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_34, add69), axis=2)
            concat71: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_35, permute_dims156), axis=2)
            permute_dims157: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat70, axes=[0, 1, 3, 2])
            matmul103: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add68, permute_dims157, out_dtype=None)
            mul106: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul103, R.const(0.25, "float32"))
            softmax17: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul106, axis=-1)
            matmul104: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax17, concat71, out_dtype=None)
            permute_dims158: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul104, axes=[0, 2, 1, 3])
            reshape73: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims158, R.shape([1, s, 64]))
            permute_dims159: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_17_o_weight, axes=None)
            matmul105: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape73, permute_dims159, out_dtype=None)
            add70: R.Tensor((1, s, 64), dtype="float32") = R.add(add67, matmul105)
            rms_norm35: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add70, layers_17_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims160: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_17_gu_weight, axes=None)
            matmul106: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm35, permute_dims160, out_dtype=None)
            split71: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul106, indices_or_sections=2, axis=-1)
            split_071: R.Tensor((1, s, 172), dtype="float32") = split71[0]
            split_171: R.Tensor((1, s, 172), dtype="float32") = split71[1]
            silu17: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_071)
            mul107: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu17, split_171)
            permute_dims161: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_17_down_weight, axes=None)
            matmul107: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul107, permute_dims161, out_dtype=None)
            add71: R.Tensor((1, s, 64), dtype="float32") = R.add(add70, matmul107)
            rms_norm36: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add71, layers_18_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims162: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_18_qkv_weight, axes=None)
            matmul108: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm36, permute_dims162, out_dtype=None)
            split72: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul108, indices_or_sections=3, axis=-1)
            split_072: R.Tensor((1, s, 64), dtype="float32") = split72[0]
            split_172: R.Tensor((1, s, 64), dtype="float32") = split72[1]
            split_218: R.Tensor((1, s, 64), dtype="float32") = split72[2]
            reshape74: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_072, R.shape([1, s, 4, 16]))
            permute_dims163: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape74, axes=[0, 2, 1, 3])
            split73: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims163, indices_or_sections=2, axis=-1)
            split_073: R.Tensor((1, 4, s, 8), dtype="float32") = split73[0]
            split_173: R.Tensor((1, 4, s, 8), dtype="float32") = split73[1]
            mul108: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims163, cos)
            neg36: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_173)
            concat72: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg36, split_073), axis=-1)
            mul109: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat72, sin)
            add72: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul108, mul109)
            reshape75: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_172, R.shape([1, s, 4, 16]))
            permute_dims164: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape75, axes=[0, 2, 1, 3])
            split74: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims164, indices_or_sections=2, axis=-1)
            split_074: R.Tensor((1, 4, s, 8), dtype="float32") = split74[0]
            split_174: R.Tensor((1, 4, s, 8), dtype="float32") = split74[1]
            mul110: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims164, cos)
            neg37: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_174)
            concat73: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg37, split_074), axis=-1)
            mul111: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat73, sin)
            add73: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul110, mul111)
            reshape76: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_218, R.shape([1, s, 4, 16]))
            permute_dims165: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape76, axes=[0, 2, 1, 3])
            concat74: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_36, add73), axis=2)
            concat75: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_37, permute_dims165), axis=2)
            permute_dims166: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat74, axes=[0, 1, 3, 2])
            matmul109: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add72, permute_dims166, out_dtype=None)
            mul112: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul109, R.const(0.25, "float32"))
            softmax18: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul112, axis=-1)
            matmul110: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax18, concat75, out_dtype=None)
            permute_dims167: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul110, axes=[0, 2, 1, 3])
            reshape77: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims167, R.shape([1, s, 64]))
            permute_dims168: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_18_o_weight, axes=None)
            matmul111: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape77, permute_dims168, out_dtype=None)
            add74: R.Tensor((1, s, 64), dtype="float32") = R.add(add71, matmul111)
            rms_norm37: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add74, layers_18_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims169: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_18_gu_weight, axes=None)
            matmul112: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm37, permute_dims169, out_dtype=None)
            split75: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul112, indices_or_sections=2, axis=-1)
            split_075: R.Tensor((1, s, 172), dtype="float32") = split75[0]
            split_175: R.Tensor((1, s, 172), dtype="float32") = split75[1]
            silu18: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_075)
            mul113: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu18, split_175)
            permute_dims170: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_18_down_weight, axes=None)
            matmul113: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul113, permute_dims170, out_dtype=None)
            add75: R.Tensor((1, s, 64), dtype="float32") = R.add(add74, matmul113)
            rms_norm38: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add75, layers_19_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims171: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_19_qkv_weight, axes=None)
            matmul114: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm38, permute_dims171, out_dtype=None)
            split76: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul114, indices_or_sections=3, axis=-1)
            split_076: R.Tensor((1, s, 64), dtype="float32") = split76[0]
            split_176: R.Tensor((1, s, 64), dtype="float32") = split76[1]
            split_219: R.Tensor((1, s, 64), dtype="float32") = split76[2]
            reshape78: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_076, R.shape([1, s, 4, 16]))
            permute_dims172: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape78, axes=[0, 2, 1, 3])
            split77: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims172, indices_or_sections=2, axis=-1)
            split_077: R.Tensor((1, 4, s, 8), dtype="float32") = split77[0]
            split_177: R.Tensor((1, 4, s, 8), dtype="float32") = split77[1]
            mul114: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims172, cos)
            neg38: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_177)
            concat76: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg38, split_077), axis=-1)
            mul115: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat76, sin)
            add76: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul114, mul115)
            reshape79: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_176, R.shape([1, s, 4, 16]))
            permute_dims173: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape79, axes=[0, 2, 1, 3])
            split78: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims173, indices_or_sections=2, axis=-1)
            split_078: R.Tensor((1, 4, s, 8), dtype="float32") = split78[0]
            split_178: R.Tensor((1, 4, s, 8), dtype="float32") = split78[1]
            mul116: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims173, cos)
            neg39: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_178)
            concat77: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg39, split_078), axis=-1)
            mul117: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat77, sin)
            add77: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul116, mul117)
            reshape80: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_219, R.shape([1, s, 4, 16]))
            permute_dims174: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape80, axes=[0, 2, 1, 3])
            concat78: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_38, add77), axis=2)
            concat79: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_39, permute_dims174), axis=2)
            permute_dims175: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat78, axes=[0, 1, 3, 2])
            matmul115: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add76, permute_dims175, out_dtype=None)
            mul118: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul115, R.const(0.25, "float32"))
            softmax19: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul118, axis=-1)
            matmul116: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax19, concat79, out_dtype=None)
            permute_dims176: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul116, axes=[0, 2, 1, 3])
            reshape81: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims176, R.shape([1, s, 64]))
            permute_dims177: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_19_o_weight, axes=None)
            matmul117: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape81, permute_dims177, out_dtype=None)
            add78: R.Tensor((1, s, 64), dtype="float32") = R.add(add75, matmul117)
            rms_norm39: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add78, layers_19_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims178: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_19_gu_weight, axes=None)
            matmul118: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm39, permute_dims178, out_dtype=None)
            split79: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul118, indices_or_sections=2, axis=-1)
            split_079: R.Tensor((1, s, 172), dtype="float32") = split79[0]
            split_179: R.Tensor((1, s, 172), dtype="float32") = split79[1]
            silu19: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_079)
            mul119: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu19, split_179)
            permute_dims179: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_19_down_weight, axes=None)
            matmul119: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul119, permute_dims179, out_dtype=None)
            add79: R.Tensor((1, s, 64), dtype="float32") = R.add(add78, matmul119)
            rms_norm40: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add79, layers_20_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims180: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_20_qkv_weight, axes=None)
            matmul120: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm40, permute_dims180, out_dtype=None)
            split80: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul120, indices_or_sections=3, axis=-1)
            split_080: R.Tensor((1, s, 64), dtype="float32") = split80[0]
            split_180: R.Tensor((1, s, 64), dtype="float32") = split80[1]
            split_220: R.Tensor((1, s, 64), dtype="float32") = split80[2]
            reshape82: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_080, R.shape([1, s, 4, 16]))
            permute_dims181: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape82, axes=[0, 2, 1, 3])
            split81: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims181, indices_or_sections=2, axis=-1)
            split_081: R.Tensor((1, 4, s, 8), dtype="float32") = split81[0]
            split_181: R.Tensor((1, 4, s, 8), dtype="float32") = split81[1]
            mul120: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims181, cos)
            neg40: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_181)
            concat80: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg40, split_081), axis=-1)
            mul121: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat80, sin)
            add80: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul120, mul121)
            reshape83: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_180, R.shape([1, s, 4, 16]))
            permute_dims182: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape83, axes=[0, 2, 1, 3])
            split82: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims182, indices_or_sections=2, axis=-1)
            split_082: R.Tensor((1, 4, s, 8), dtype="float32") = split82[0]
            split_182: R.Tensor((1, 4, s, 8), dtype="float32") = split82[1]
            mul122: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims182, cos)
            neg41: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_182)
            concat81: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg41, split_082), axis=-1)
            mul123: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat81, sin)
            add81: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul122, mul123)
            reshape84: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_220, R.shape([1, s, 4, 16]))
            permute_dims183: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape84, axes=[0, 2, 1, 3])
            concat82: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_40, add81), axis=2)
            concat83: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_41, permute_dims183), axis=2)
            permute_dims184: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat82, axes=[0, 1, 3, 2])
            matmul121: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add80, permute_dims184, out_dtype=None)
            mul124: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul121, R.const(0.25, "float32"))
            softmax20: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul124, axis=-1)
            matmul122: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax20, concat83, out_dtype=None)
            permute_dims185: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul122, axes=[0, 2, 1, 3])
            reshape85: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims185, R.shape([1, s, 64]))
            permute_dims186: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_20_o_weight, axes=None)
            matmul123: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape85, permute_dims186, out_dtype=None)
            add82: R.Tensor((1, s, 64), dtype="float32") = R.add(add79, matmul123)
            rms_norm41: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add82, layers_20_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims187: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_20_gu_weight, axes=None)
            matmul124: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm41, permute_dims187, out_dtype=None)
            split83: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul124, indices_or_sections=2, axis=-1)
            split_083: R.Tensor((1, s, 172), dtype="float32") = split83[0]
            split_183: R.Tensor((1, s, 172), dtype="float32") = split83[1]
            silu20: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_083)
            mul125: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu20, split_183)
            permute_dims188: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_20_down_weight, axes=None)
            matmul125: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul125, permute_dims188, out_dtype=None)
            add83: R.Tensor((1, s, 64), dtype="float32") = R.add(add82, matmul125)
            rms_norm42: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add83, layers_21_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims189: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_21_qkv_weight, axes=None)
            matmul126: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm42, permute_dims189, out_dtype=None)
            split84: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul126, indices_or_sections=3, axis=-1)
            split_084: R.Tensor((1, s, 64), dtype="float32") = split84[0]
            split_184: R.Tensor((1, s, 64), dtype="float32") = split84[1]
            split_221: R.Tensor((1, s, 64), dtype="float32") = split84[2]
            reshape86: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_084, R.shape([1, s, 4, 16]))
            permute_dims190: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape86, axes=[0, 2, 1, 3])
            split85: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims190, indices_or_sections=2, axis=-1)
            split_085: R.Tensor((1, 4, s, 8), dtype="float32") = split85[0]
            split_185: R.Tensor((1, 4, s, 8), dtype="float32") = split85[1]
            mul126: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims190, cos)
            neg42: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_185)
            concat84: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg42, split_085), axis=-1)
            mul127: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat84, sin)
            add84: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul126, mul127)
            reshape87: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_184, R.shape([1, s, 4, 16]))
            permute_dims191: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape87, axes=[0, 2, 1, 3])
            split86: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims191, indices_or_sections=2, axis=-1)
            split_086: R.Tensor((1, 4, s, 8), dtype="float32") = split86[0]
            split_186: R.Tensor((1, 4, s, 8), dtype="float32") = split86[1]
            mul128: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims191, cos)
            neg43: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_186)
            concat85: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg43, split_086), axis=-1)
            mul129: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat85, sin)
            add85: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul128, mul129)
            reshape88: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_221, R.shape([1, s, 4, 16]))
            permute_dims192: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape88, axes=[0, 2, 1, 3])
            concat86: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_42, add85), axis=2)
            concat87: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_43, permute_dims192), axis=2)
            permute_dims193: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat86, axes=[0, 1, 3, 2])
            matmul127: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add84, permute_dims193, out_dtype=None)
            mul130: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul127, R.const(0.25, "float32"))
            softmax21: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul130, axis=-1)
            matmul128: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax21, concat87, out_dtype=None)
            permute_dims194: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul128, axes=[0, 2, 1, 3])
            reshape89: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims194, R.shape([1, s, 64]))
            permute_dims195: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_21_o_weight, axes=None)
            matmul129: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape89, permute_dims195, out_dtype=None)
            add86: R.Tensor((1, s, 64), dtype="float32") = R.add(add83, matmul129)
            rms_norm43: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add86, layers_21_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims196: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_21_gu_weight, axes=None)
            matmul130: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm43, permute_dims196, out_dtype=None)
            split87: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul130, indices_or_sections=2, axis=-1)
            split_087: R.Tensor((1, s, 172), dtype="float32") = split87[0]
            split_187: R.Tensor((1, s, 172), dtype="float32") = split87[1]
            silu21: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_087)
            mul131: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu21, split_187)
            permute_dims197: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_21_down_weight, axes=None)
            matmul131: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul131, permute_dims197, out_dtype=None)
            add87: R.Tensor((1, s, 64), dtype="float32") = R.add(add86, matmul131)
            rms_norm44: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add87, layers_22_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims198: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_22_qkv_weight, axes=None)
            matmul132: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm44, permute_dims198, out_dtype=None)
            split88: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul132, indices_or_sections=3, axis=-1)
            split_088: R.Tensor((1, s, 64), dtype="float32") = split88[0]
            split_188: R.Tensor((1, s, 64), dtype="float32") = split88[1]
            split_222: R.Tensor((1, s, 64), dtype="float32") = split88[2]
            reshape90: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_088, R.shape([1, s, 4, 16]))
            permute_dims199: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape90, axes=[0, 2, 1, 3])
            split89: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims199, indices_or_sections=2, axis=-1)
            split_089: R.Tensor((1, 4, s, 8), dtype="float32") = split89[0]
            split_189: R.Tensor((1, 4, s, 8), dtype="float32") = split89[1]
            mul132: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims199, cos)
            neg44: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_189)
            concat88: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg44, split_089), axis=-1)
            mul133: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat88, sin)
            add88: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul132, mul133)
            reshape91: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_188, R.shape([1, s, 4, 16]))
            permute_dims200: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape91, axes=[0, 2, 1, 3])
            split90: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims200, indices_or_sections=2, axis=-1)
            split_090: R.Tensor((1, 4, s, 8), dtype="float32") = split90[0]
            split_190: R.Tensor((1, 4, s, 8), dtype="float32") = split90[1]
            mul134: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims200, cos)
            neg45: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_190)
            concat89: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg45, split_090), axis=-1)
            mul135: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat89, sin)
            add89: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul134, mul135)
            reshape92: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_222, R.shape([1, s, 4, 16]))
            permute_dims201: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape92, axes=[0, 2, 1, 3])
            concat90: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_44, add89), axis=2)
            concat91: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_45, permute_dims201), axis=2)
            permute_dims202: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat90, axes=[0, 1, 3, 2])
            matmul133: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add88, permute_dims202, out_dtype=None)
            mul136: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul133, R.const(0.25, "float32"))
            softmax22: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul136, axis=-1)
            matmul134: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax22, concat91, out_dtype=None)
            permute_dims203: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul134, axes=[0, 2, 1, 3])
            reshape93: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims203, R.shape([1, s, 64]))
            permute_dims204: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_22_o_weight, axes=None)
            matmul135: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape93, permute_dims204, out_dtype=None)
            add90: R.Tensor((1, s, 64), dtype="float32") = R.add(add87, matmul135)
            rms_norm45: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add90, layers_22_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims205: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_22_gu_weight, axes=None)
            matmul136: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm45, permute_dims205, out_dtype=None)
            split91: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul136, indices_or_sections=2, axis=-1)
            split_091: R.Tensor((1, s, 172), dtype="float32") = split91[0]
            split_191: R.Tensor((1, s, 172), dtype="float32") = split91[1]
            silu22: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_091)
            mul137: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu22, split_191)
            permute_dims206: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_22_down_weight, axes=None)
            matmul137: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul137, permute_dims206, out_dtype=None)
            add91: R.Tensor((1, s, 64), dtype="float32") = R.add(add90, matmul137)
            rms_norm46: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add91, layers_23_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims207: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_23_qkv_weight, axes=None)
            matmul138: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm46, permute_dims207, out_dtype=None)
            split92: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul138, indices_or_sections=3, axis=-1)
            split_092: R.Tensor((1, s, 64), dtype="float32") = split92[0]
            split_192: R.Tensor((1, s, 64), dtype="float32") = split92[1]
            split_223: R.Tensor((1, s, 64), dtype="float32") = split92[2]
            reshape94: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_092, R.shape([1, s, 4, 16]))
            permute_dims208: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape94, axes=[0, 2, 1, 3])
            split93: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims208, indices_or_sections=2, axis=-1)
            split_093: R.Tensor((1, 4, s, 8), dtype="float32") = split93[0]
            split_193: R.Tensor((1, 4, s, 8), dtype="float32") = split93[1]
            mul138: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims208, cos)
            neg46: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_193)
            concat92: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg46, split_093), axis=-1)
            mul139: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat92, sin)
            add92: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul138, mul139)
            reshape95: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_192, R.shape([1, s, 4, 16]))
            permute_dims209: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape95, axes=[0, 2, 1, 3])
            split94: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims209, indices_or_sections=2, axis=-1)
            split_094: R.Tensor((1, 4, s, 8), dtype="float32") = split94[0]
            split_194: R.Tensor((1, 4, s, 8), dtype="float32") = split94[1]
            mul140: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims209, cos)
            neg47: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_194)
            concat93: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg47, split_094), axis=-1)
            mul141: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat93, sin)
            add93: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul140, mul141)
            reshape96: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_223, R.shape([1, s, 4, 16]))
            permute_dims210: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape96, axes=[0, 2, 1, 3])
            concat94: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_46, add93), axis=2)
            concat95: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_47, permute_dims210), axis=2)
            permute_dims211: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat94, axes=[0, 1, 3, 2])
            matmul139: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add92, permute_dims211, out_dtype=None)
            mul142: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul139, R.const(0.25, "float32"))
            softmax23: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul142, axis=-1)
            matmul140: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax23, concat95, out_dtype=None)
            permute_dims212: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul140, axes=[0, 2, 1, 3])
            reshape97: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims212, R.shape([1, s, 64]))
            permute_dims213: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_23_o_weight, axes=None)
            matmul141: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape97, permute_dims213, out_dtype=None)
            add94: R.Tensor((1, s, 64), dtype="float32") = R.add(add91, matmul141)
            rms_norm47: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add94, layers_23_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims214: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_23_gu_weight, axes=None)
            matmul142: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm47, permute_dims214, out_dtype=None)
            split95: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul142, indices_or_sections=2, axis=-1)
            split_095: R.Tensor((1, s, 172), dtype="float32") = split95[0]
            split_195: R.Tensor((1, s, 172), dtype="float32") = split95[1]
            silu23: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_095)
            mul143: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu23, split_195)
            permute_dims215: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_23_down_weight, axes=None)
            matmul143: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul143, permute_dims215, out_dtype=None)
            add95: R.Tensor((1, s, 64), dtype="float32") = R.add(add94, matmul143)
            rms_norm48: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add95, layers_24_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims216: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_24_qkv_weight, axes=None)
            matmul144: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm48, permute_dims216, out_dtype=None)
            split96: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul144, indices_or_sections=3, axis=-1)
            split_096: R.Tensor((1, s, 64), dtype="float32") = split96[0]
            split_196: R.Tensor((1, s, 64), dtype="float32") = split96[1]
            split_224: R.Tensor((1, s, 64), dtype="float32") = split96[2]
            reshape98: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_096, R.shape([1, s, 4, 16]))
            permute_dims217: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape98, axes=[0, 2, 1, 3])
            split97: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims217, indices_or_sections=2, axis=-1)
            split_097: R.Tensor((1, 4, s, 8), dtype="float32") = split97[0]
            split_197: R.Tensor((1, 4, s, 8), dtype="float32") = split97[1]
            mul144: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims217, cos)
            neg48: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_197)
            concat96: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg48, split_097), axis=-1)
            mul145: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat96, sin)
            add96: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul144, mul145)
            reshape99: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_196, R.shape([1, s, 4, 16]))
            permute_dims218: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape99, axes=[0, 2, 1, 3])
            split98: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims218, indices_or_sections=2, axis=-1)
            split_098: R.Tensor((1, 4, s, 8), dtype="float32") = split98[0]
            split_198: R.Tensor((1, 4, s, 8), dtype="float32") = split98[1]
            mul146: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims218, cos)
            neg49: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_198)
            concat97: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg49, split_098), axis=-1)
            mul147: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat97, sin)
            add97: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul146, mul147)
            reshape100: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_224, R.shape([1, s, 4, 16]))
            permute_dims219: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape100, axes=[0, 2, 1, 3])
            concat98: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_48, add97), axis=2)
            concat99: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_49, permute_dims219), axis=2)
            permute_dims220: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat98, axes=[0, 1, 3, 2])
            matmul145: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add96, permute_dims220, out_dtype=None)
            mul148: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul145, R.const(0.25, "float32"))
            softmax24: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul148, axis=-1)
            matmul146: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax24, concat99, out_dtype=None)
            permute_dims221: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul146, axes=[0, 2, 1, 3])
            reshape101: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims221, R.shape([1, s, 64]))
            permute_dims222: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_24_o_weight, axes=None)
            matmul147: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape101, permute_dims222, out_dtype=None)
            add98: R.Tensor((1, s, 64), dtype="float32") = R.add(add95, matmul147)
            rms_norm49: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add98, layers_24_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims223: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_24_gu_weight, axes=None)
            matmul148: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm49, permute_dims223, out_dtype=None)
            split99: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul148, indices_or_sections=2, axis=-1)
            split_099: R.Tensor((1, s, 172), dtype="float32") = split99[0]
            split_199: R.Tensor((1, s, 172), dtype="float32") = split99[1]
            silu24: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_099)
            mul149: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu24, split_199)
            permute_dims224: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_24_down_weight, axes=None)
            matmul149: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul149, permute_dims224, out_dtype=None)
            add99: R.Tensor((1, s, 64), dtype="float32") = R.add(add98, matmul149)
            rms_norm50: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add99, layers_25_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims225: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_25_qkv_weight, axes=None)
            matmul150: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm50, permute_dims225, out_dtype=None)
            split100: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul150, indices_or_sections=3, axis=-1)
            split_0100: R.Tensor((1, s, 64), dtype="float32") = split100[0]
            split_1100: R.Tensor((1, s, 64), dtype="float32") = split100[1]
            split_225: R.Tensor((1, s, 64), dtype="float32") = split100[2]
            reshape102: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_0100, R.shape([1, s, 4, 16]))
            permute_dims226: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape102, axes=[0, 2, 1, 3])
            split101: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims226, indices_or_sections=2, axis=-1)
            split_0101: R.Tensor((1, 4, s, 8), dtype="float32") = split101[0]
            split_1101: R.Tensor((1, 4, s, 8), dtype="float32") = split101[1]
            mul150: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims226, cos)
            neg50: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1101)
            concat100: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg50, split_0101), axis=-1)
            mul151: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat100, sin)
            add100: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul150, mul151)
            reshape103: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_1100, R.shape([1, s, 4, 16]))
            permute_dims227: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape103, axes=[0, 2, 1, 3])
            split102: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims227, indices_or_sections=2, axis=-1)
            split_0102: R.Tensor((1, 4, s, 8), dtype="float32") = split102[0]
            split_1102: R.Tensor((1, 4, s, 8), dtype="float32") = split102[1]
            mul152: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims227, cos)
            neg51: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1102)
            concat101: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg51, split_0102), axis=-1)
            mul153: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat101, sin)
            add101: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul152, mul153)
            reshape104: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_225, R.shape([1, s, 4, 16]))
            permute_dims228: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape104, axes=[0, 2, 1, 3])
            concat102: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_50, add101), axis=2)
            concat103: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_51, permute_dims228), axis=2)
            permute_dims229: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat102, axes=[0, 1, 3, 2])
            matmul151: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add100, permute_dims229, out_dtype=None)
            mul154: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul151, R.const(0.25, "float32"))
            softmax25: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul154, axis=-1)
            matmul152: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax25, concat103, out_dtype=None)
            permute_dims230: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul152, axes=[0, 2, 1, 3])
            reshape105: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims230, R.shape([1, s, 64]))
            permute_dims231: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_25_o_weight, axes=None)
            matmul153: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape105, permute_dims231, out_dtype=None)
            add102: R.Tensor((1, s, 64), dtype="float32") = R.add(add99, matmul153)
            rms_norm51: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add102, layers_25_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims232: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_25_gu_weight, axes=None)
            matmul154: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm51, permute_dims232, out_dtype=None)
            split103: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul154, indices_or_sections=2, axis=-1)
            split_0103: R.Tensor((1, s, 172), dtype="float32") = split103[0]
            split_1103: R.Tensor((1, s, 172), dtype="float32") = split103[1]
            silu25: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_0103)
            mul155: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu25, split_1103)
            permute_dims233: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_25_down_weight, axes=None)
            matmul155: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul155, permute_dims233, out_dtype=None)
            add103: R.Tensor((1, s, 64), dtype="float32") = R.add(add102, matmul155)
            rms_norm52: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add103, layers_26_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims234: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_26_qkv_weight, axes=None)
            matmul156: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm52, permute_dims234, out_dtype=None)
            split104: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul156, indices_or_sections=3, axis=-1)
            split_0104: R.Tensor((1, s, 64), dtype="float32") = split104[0]
            split_1104: R.Tensor((1, s, 64), dtype="float32") = split104[1]
            split_226: R.Tensor((1, s, 64), dtype="float32") = split104[2]
            reshape106: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_0104, R.shape([1, s, 4, 16]))
            permute_dims235: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape106, axes=[0, 2, 1, 3])
            split105: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims235, indices_or_sections=2, axis=-1)
            split_0105: R.Tensor((1, 4, s, 8), dtype="float32") = split105[0]
            split_1105: R.Tensor((1, 4, s, 8), dtype="float32") = split105[1]
            mul156: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims235, cos)
            neg52: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1105)
            concat104: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg52, split_0105), axis=-1)
            mul157: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat104, sin)
            add104: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul156, mul157)
            reshape107: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_1104, R.shape([1, s, 4, 16]))
            permute_dims236: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape107, axes=[0, 2, 1, 3])
            split106: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims236, indices_or_sections=2, axis=-1)
            split_0106: R.Tensor((1, 4, s, 8), dtype="float32") = split106[0]
            split_1106: R.Tensor((1, 4, s, 8), dtype="float32") = split106[1]
            mul158: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims236, cos)
            neg53: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1106)
            concat105: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg53, split_0106), axis=-1)
            mul159: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat105, sin)
            add105: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul158, mul159)
            reshape108: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_226, R.shape([1, s, 4, 16]))
            permute_dims237: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape108, axes=[0, 2, 1, 3])
            concat106: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_52, add105), axis=2)
            concat107: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_53, permute_dims237), axis=2)
            permute_dims238: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat106, axes=[0, 1, 3, 2])
            matmul157: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add104, permute_dims238, out_dtype=None)
            mul160: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul157, R.const(0.25, "float32"))
            softmax26: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul160, axis=-1)
            matmul158: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax26, concat107, out_dtype=None)
            permute_dims239: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul158, axes=[0, 2, 1, 3])
            reshape109: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims239, R.shape([1, s, 64]))
            permute_dims240: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_26_o_weight, axes=None)
            matmul159: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape109, permute_dims240, out_dtype=None)
            add106: R.Tensor((1, s, 64), dtype="float32") = R.add(add103, matmul159)
            rms_norm53: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add106, layers_26_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims241: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_26_gu_weight, axes=None)
            matmul160: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm53, permute_dims241, out_dtype=None)
            split107: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul160, indices_or_sections=2, axis=-1)
            split_0107: R.Tensor((1, s, 172), dtype="float32") = split107[0]
            split_1107: R.Tensor((1, s, 172), dtype="float32") = split107[1]
            silu26: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_0107)
            mul161: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu26, split_1107)
            permute_dims242: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_26_down_weight, axes=None)
            matmul161: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul161, permute_dims242, out_dtype=None)
            add107: R.Tensor((1, s, 64), dtype="float32") = R.add(add106, matmul161)
            rms_norm54: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add107, layers_27_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims243: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_27_qkv_weight, axes=None)
            matmul162: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm54, permute_dims243, out_dtype=None)
            split108: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul162, indices_or_sections=3, axis=-1)
            split_0108: R.Tensor((1, s, 64), dtype="float32") = split108[0]
            split_1108: R.Tensor((1, s, 64), dtype="float32") = split108[1]
            split_227: R.Tensor((1, s, 64), dtype="float32") = split108[2]
            reshape110: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_0108, R.shape([1, s, 4, 16]))
            permute_dims244: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape110, axes=[0, 2, 1, 3])
            split109: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims244, indices_or_sections=2, axis=-1)
            split_0109: R.Tensor((1, 4, s, 8), dtype="float32") = split109[0]
            split_1109: R.Tensor((1, 4, s, 8), dtype="float32") = split109[1]
            mul162: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims244, cos)
            neg54: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1109)
            concat108: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg54, split_0109), axis=-1)
            mul163: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat108, sin)
            add108: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul162, mul163)
            reshape111: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_1108, R.shape([1, s, 4, 16]))
            permute_dims245: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape111, axes=[0, 2, 1, 3])
            split110: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims245, indices_or_sections=2, axis=-1)
            split_0110: R.Tensor((1, 4, s, 8), dtype="float32") = split110[0]
            split_1110: R.Tensor((1, 4, s, 8), dtype="float32") = split110[1]
            mul164: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims245, cos)
            neg55: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1110)
            concat109: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg55, split_0110), axis=-1)
            mul165: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat109, sin)
            add109: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul164, mul165)
            reshape112: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_227, R.shape([1, s, 4, 16]))
            permute_dims246: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape112, axes=[0, 2, 1, 3])
            concat110: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_54, add109), axis=2)
            concat111: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_55, permute_dims246), axis=2)
            permute_dims247: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat110, axes=[0, 1, 3, 2])
            matmul163: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add108, permute_dims247, out_dtype=None)
            mul166: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul163, R.const(0.25, "float32"))
            softmax27: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul166, axis=-1)
            matmul164: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax27, concat111, out_dtype=None)
            permute_dims248: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul164, axes=[0, 2, 1, 3])
            reshape113: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims248, R.shape([1, s, 64]))
            permute_dims249: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_27_o_weight, axes=None)
            matmul165: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape113, permute_dims249, out_dtype=None)
            add110: R.Tensor((1, s, 64), dtype="float32") = R.add(add107, matmul165)
            rms_norm55: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add110, layers_27_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims250: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_27_gu_weight, axes=None)
            matmul166: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm55, permute_dims250, out_dtype=None)
            split111: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul166, indices_or_sections=2, axis=-1)
            split_0111: R.Tensor((1, s, 172), dtype="float32") = split111[0]
            split_1111: R.Tensor((1, s, 172), dtype="float32") = split111[1]
            silu27: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_0111)
            mul167: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu27, split_1111)
            permute_dims251: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_27_down_weight, axes=None)
            matmul167: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul167, permute_dims251, out_dtype=None)
            add111: R.Tensor((1, s, 64), dtype="float32") = R.add(add110, matmul167)
            rms_norm56: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add111, layers_28_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims252: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_28_qkv_weight, axes=None)
            matmul168: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm56, permute_dims252, out_dtype=None)
            split112: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul168, indices_or_sections=3, axis=-1)
            split_0112: R.Tensor((1, s, 64), dtype="float32") = split112[0]
            split_1112: R.Tensor((1, s, 64), dtype="float32") = split112[1]
            split_228: R.Tensor((1, s, 64), dtype="float32") = split112[2]
            reshape114: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_0112, R.shape([1, s, 4, 16]))
            permute_dims253: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape114, axes=[0, 2, 1, 3])
            split113: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims253, indices_or_sections=2, axis=-1)
            split_0113: R.Tensor((1, 4, s, 8), dtype="float32") = split113[0]
            split_1113: R.Tensor((1, 4, s, 8), dtype="float32") = split113[1]
            mul168: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims253, cos)
            neg56: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1113)
            concat112: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg56, split_0113), axis=-1)
            mul169: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat112, sin)
            add112: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul168, mul169)
            reshape115: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_1112, R.shape([1, s, 4, 16]))
            permute_dims254: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape115, axes=[0, 2, 1, 3])
            split114: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims254, indices_or_sections=2, axis=-1)
            split_0114: R.Tensor((1, 4, s, 8), dtype="float32") = split114[0]
            split_1114: R.Tensor((1, 4, s, 8), dtype="float32") = split114[1]
            mul170: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims254, cos)
            neg57: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1114)
            concat113: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg57, split_0114), axis=-1)
            mul171: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat113, sin)
            add113: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul170, mul171)
            reshape116: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_228, R.shape([1, s, 4, 16]))
            permute_dims255: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape116, axes=[0, 2, 1, 3])
            concat114: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_56, add113), axis=2)
            concat115: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_57, permute_dims255), axis=2)
            permute_dims256: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat114, axes=[0, 1, 3, 2])
            matmul169: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add112, permute_dims256, out_dtype=None)
            mul172: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul169, R.const(0.25, "float32"))
            softmax28: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul172, axis=-1)
            matmul170: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax28, concat115, out_dtype=None)
            permute_dims257: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul170, axes=[0, 2, 1, 3])
            reshape117: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims257, R.shape([1, s, 64]))
            permute_dims258: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_28_o_weight, axes=None)
            matmul171: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape117, permute_dims258, out_dtype=None)
            add114: R.Tensor((1, s, 64), dtype="float32") = R.add(add111, matmul171)
            rms_norm57: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add114, layers_28_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims259: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_28_gu_weight, axes=None)
            matmul172: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm57, permute_dims259, out_dtype=None)
            split115: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul172, indices_or_sections=2, axis=-1)
            split_0115: R.Tensor((1, s, 172), dtype="float32") = split115[0]
            split_1115: R.Tensor((1, s, 172), dtype="float32") = split115[1]
            silu28: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_0115)
            mul173: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu28, split_1115)
            permute_dims260: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_28_down_weight, axes=None)
            matmul173: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul173, permute_dims260, out_dtype=None)
            add115: R.Tensor((1, s, 64), dtype="float32") = R.add(add114, matmul173)
            rms_norm58: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add115, layers_29_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims261: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_29_qkv_weight, axes=None)
            matmul174: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm58, permute_dims261, out_dtype=None)
            split116: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul174, indices_or_sections=3, axis=-1)
            split_0116: R.Tensor((1, s, 64), dtype="float32") = split116[0]
            split_1116: R.Tensor((1, s, 64), dtype="float32") = split116[1]
            split_229: R.Tensor((1, s, 64), dtype="float32") = split116[2]
            reshape118: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_0116, R.shape([1, s, 4, 16]))
            permute_dims262: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape118, axes=[0, 2, 1, 3])
            split117: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims262, indices_or_sections=2, axis=-1)
            split_0117: R.Tensor((1, 4, s, 8), dtype="float32") = split117[0]
            split_1117: R.Tensor((1, 4, s, 8), dtype="float32") = split117[1]
            mul174: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims262, cos)
            neg58: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1117)
            concat116: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg58, split_0117), axis=-1)
            mul175: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat116, sin)
            add116: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul174, mul175)
            reshape119: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_1116, R.shape([1, s, 4, 16]))
            permute_dims263: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape119, axes=[0, 2, 1, 3])
            split118: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims263, indices_or_sections=2, axis=-1)
            split_0118: R.Tensor((1, 4, s, 8), dtype="float32") = split118[0]
            split_1118: R.Tensor((1, 4, s, 8), dtype="float32") = split118[1]
            mul176: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims263, cos)
            neg59: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1118)
            concat117: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg59, split_0118), axis=-1)
            mul177: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat117, sin)
            add117: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul176, mul177)
            reshape120: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_229, R.shape([1, s, 4, 16]))
            permute_dims264: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape120, axes=[0, 2, 1, 3])
            concat118: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_58, add117), axis=2)
            concat119: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_59, permute_dims264), axis=2)
            permute_dims265: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat118, axes=[0, 1, 3, 2])
            matmul175: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add116, permute_dims265, out_dtype=None)
            mul178: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul175, R.const(0.25, "float32"))
            softmax29: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul178, axis=-1)
            matmul176: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax29, concat119, out_dtype=None)
            permute_dims266: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul176, axes=[0, 2, 1, 3])
            reshape121: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims266, R.shape([1, s, 64]))
            permute_dims267: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_29_o_weight, axes=None)
            matmul177: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape121, permute_dims267, out_dtype=None)
            add118: R.Tensor((1, s, 64), dtype="float32") = R.add(add115, matmul177)
            rms_norm59: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add118, layers_29_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims268: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_29_gu_weight, axes=None)
            matmul178: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm59, permute_dims268, out_dtype=None)
            split119: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul178, indices_or_sections=2, axis=-1)
            split_0119: R.Tensor((1, s, 172), dtype="float32") = split119[0]
            split_1119: R.Tensor((1, s, 172), dtype="float32") = split119[1]
            silu29: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_0119)
            mul179: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu29, split_1119)
            permute_dims269: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_29_down_weight, axes=None)
            matmul179: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul179, permute_dims269, out_dtype=None)
            add119: R.Tensor((1, s, 64), dtype="float32") = R.add(add118, matmul179)
            rms_norm60: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add119, layers_30_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims270: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_30_qkv_weight, axes=None)
            matmul180: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm60, permute_dims270, out_dtype=None)
            split120: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul180, indices_or_sections=3, axis=-1)
            split_0120: R.Tensor((1, s, 64), dtype="float32") = split120[0]
            split_1120: R.Tensor((1, s, 64), dtype="float32") = split120[1]
            split_230: R.Tensor((1, s, 64), dtype="float32") = split120[2]
            reshape122: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_0120, R.shape([1, s, 4, 16]))
            permute_dims271: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape122, axes=[0, 2, 1, 3])
            split121: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims271, indices_or_sections=2, axis=-1)
            split_0121: R.Tensor((1, 4, s, 8), dtype="float32") = split121[0]
            split_1121: R.Tensor((1, 4, s, 8), dtype="float32") = split121[1]
            mul180: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims271, cos)
            neg60: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1121)
            concat120: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg60, split_0121), axis=-1)
            mul181: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat120, sin)
            add120: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul180, mul181)
            reshape123: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_1120, R.shape([1, s, 4, 16]))
            permute_dims272: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape123, axes=[0, 2, 1, 3])
            split122: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims272, indices_or_sections=2, axis=-1)
            split_0122: R.Tensor((1, 4, s, 8), dtype="float32") = split122[0]
            split_1122: R.Tensor((1, 4, s, 8), dtype="float32") = split122[1]
            mul182: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims272, cos)
            neg61: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1122)
            concat121: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg61, split_0122), axis=-1)
            mul183: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat121, sin)
            add121: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul182, mul183)
            reshape124: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_230, R.shape([1, s, 4, 16]))
            permute_dims273: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape124, axes=[0, 2, 1, 3])
            concat122: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_60, add121), axis=2)
            concat123: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_61, permute_dims273), axis=2)
            permute_dims274: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat122, axes=[0, 1, 3, 2])
            matmul181: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add120, permute_dims274, out_dtype=None)
            mul184: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul181, R.const(0.25, "float32"))
            softmax30: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul184, axis=-1)
            matmul182: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax30, concat123, out_dtype=None)
            permute_dims275: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul182, axes=[0, 2, 1, 3])
            reshape125: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims275, R.shape([1, s, 64]))
            permute_dims276: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_30_o_weight, axes=None)
            matmul183: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape125, permute_dims276, out_dtype=None)
            add122: R.Tensor((1, s, 64), dtype="float32") = R.add(add119, matmul183)
            rms_norm61: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add122, layers_30_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims277: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_30_gu_weight, axes=None)
            matmul184: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm61, permute_dims277, out_dtype=None)
            split123: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul184, indices_or_sections=2, axis=-1)
            split_0123: R.Tensor((1, s, 172), dtype="float32") = split123[0]
            split_1123: R.Tensor((1, s, 172), dtype="float32") = split123[1]
            silu30: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_0123)
            mul185: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu30, split_1123)
            permute_dims278: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_30_down_weight, axes=None)
            matmul185: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul185, permute_dims278, out_dtype=None)
            add123: R.Tensor((1, s, 64), dtype="float32") = R.add(add122, matmul185)
            rms_norm62: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add123, layers_31_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims279: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_31_qkv_weight, axes=None)
            matmul186: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm62, permute_dims279, out_dtype=None)
            split124: R.Tuple(R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32"), R.Tensor((1, s, 64), dtype="float32")) = R.split(matmul186, indices_or_sections=3, axis=-1)
            split_0124: R.Tensor((1, s, 64), dtype="float32") = split124[0]
            split_1124: R.Tensor((1, s, 64), dtype="float32") = split124[1]
            split_231: R.Tensor((1, s, 64), dtype="float32") = split124[2]
            reshape126: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_0124, R.shape([1, s, 4, 16]))
            permute_dims280: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape126, axes=[0, 2, 1, 3])
            split125: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims280, indices_or_sections=2, axis=-1)
            split_0125: R.Tensor((1, 4, s, 8), dtype="float32") = split125[0]
            split_1125: R.Tensor((1, 4, s, 8), dtype="float32") = split125[1]
            mul186: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims280, cos)
            neg62: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1125)
            concat124: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg62, split_0125), axis=-1)
            mul187: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat124, sin)
            add124: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul186, mul187)
            reshape127: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_1124, R.shape([1, s, 4, 16]))
            permute_dims281: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape127, axes=[0, 2, 1, 3])
            split126: R.Tuple(R.Tensor((1, 4, s, 8), dtype="float32"), R.Tensor((1, 4, s, 8), dtype="float32")) = R.split(permute_dims281, indices_or_sections=2, axis=-1)
            split_0126: R.Tensor((1, 4, s, 8), dtype="float32") = split126[0]
            split_1126: R.Tensor((1, 4, s, 8), dtype="float32") = split126[1]
            mul188: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(permute_dims281, cos)
            neg63: R.Tensor((1, 4, s, 8), dtype="float32") = R.negative(split_1126)
            concat125: R.Tensor((1, 4, s, 16), dtype="float32") = R.concat((neg63, split_0126), axis=-1)
            mul189: R.Tensor((1, 4, s, 16), dtype="float32") = R.multiply(concat125, sin)
            add125: R.Tensor((1, 4, s, 16), dtype="float32") = R.add(mul188, mul189)
            reshape128: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(split_231, R.shape([1, s, 4, 16]))
            permute_dims282: R.Tensor((1, 4, s, 16), dtype="float32") = R.permute_dims(reshape128, axes=[0, 2, 1, 3])
            concat126: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_62, add125), axis=2)
            concat127: R.Tensor((1, 4, p + s, 16), dtype="float32") = R.concat((past_63, permute_dims282), axis=2)
            permute_dims283: R.Tensor((1, 4, 16, p + s), dtype="float32") = R.permute_dims(concat126, axes=[0, 1, 3, 2])
            matmul187: R.Tensor((1, 4, s, p + s), dtype="float32") = R.matmul(add124, permute_dims283, out_dtype=None)
            mul190: R.Tensor((1, 4, s, p + s), dtype="float32") = R.multiply(matmul187, R.const(0.25, "float32"))
            softmax31: R.Tensor((1, 4, s, p + s), dtype="float32") = R.nn.softmax(mul190, axis=-1)
            matmul188: R.Tensor((1, 4, s, 16), dtype="float32") = R.matmul(softmax31, concat127, out_dtype=None)
            permute_dims284: R.Tensor((1, s, 4, 16), dtype="float32") = R.permute_dims(matmul188, axes=[0, 2, 1, 3])
            reshape129: R.Tensor((1, s, 64), dtype="float32") = R.reshape(permute_dims284, R.shape([1, s, 64]))
            permute_dims285: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_31_o_weight, axes=None)
            matmul189: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape129, permute_dims285, out_dtype=None)
            add126: R.Tensor((1, s, 64), dtype="float32") = R.add(add123, matmul189)
            rms_norm63: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add126, layers_31_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims286: R.Tensor((64, 344), dtype="float32") = R.permute_dims(layers_31_gu_weight, axes=None)
            matmul190: R.Tensor((1, s, 344), dtype="float32") = R.matmul(rms_norm63, permute_dims286, out_dtype=None)
            split127: R.Tuple(R.Tensor((1, s, 172), dtype="float32"), R.Tensor((1, s, 172), dtype="float32")) = R.split(matmul190, indices_or_sections=2, axis=-1)
            split_0127: R.Tensor((1, s, 172), dtype="float32") = split127[0]
            split_1127: R.Tensor((1, s, 172), dtype="float32") = split127[1]
            silu31: R.Tensor((1, s, 172), dtype="float32") = R.nn.silu(split_0127)
            mul191: R.Tensor((1, s, 172), dtype="float32") = R.multiply(silu31, split_1127)
            permute_dims287: R.Tensor((172, 64), dtype="float32") = R.permute_dims(layers_31_down_weight, axes=None)
            matmul191: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul191, permute_dims287, out_dtype=None)
            add127: R.Tensor((1, s, 64), dtype="float32") = R.add(add126, matmul191)
            rms_norm64: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add127, norm_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims288: R.Tensor((64, 1000), dtype="float32") = R.permute_dims(head_weight, axes=None)
            matmul192: R.Tensor((1, s, 1000), dtype="float32") = R.matmul(rms_norm64, permute_dims288, out_dtype=None)
            gv: R.Tuple(R.Tensor((1, s, 1000), dtype="float32"), R.Tuple(R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"), R.Tensor((1, 4, p + s, 16), dtype="float32"))) = matmul192, (concat2, concat3, concat6, concat7, concat10, concat11, concat14, concat15, concat18, concat19, concat22, concat23, concat26, concat27, concat30, concat31, concat34, concat35, concat38, concat39, concat42, concat43, concat46, concat47, concat50, concat51, concat54, concat55, concat58, concat59, concat62, concat63, concat66, concat67, concat70, concat71, concat74, concat75, concat78, concat79, concat82, concat83, concat86, concat87, concat90, concat91, concat94, concat95, concat98, concat99, concat102, concat103, concat106, concat107, concat110, concat111, concat114, concat115, concat118, concat119, concat122, concat123, concat126, concat127)
            R.output(gv)
        return gv
