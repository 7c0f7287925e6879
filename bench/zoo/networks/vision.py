"""Pictures to classes: one or two of each family that timm has, in small sizes."""
from __future__ import annotations

import functools

# Name in timm, and the picture's side (0: the network's own).
CONVOLUTIONS = '''
    bat_resnext26ts 0, eca_resnext26ts 0, repvgg_a0 0, mobileone_s0 0, resnet18 224, resnet50 224, resnet26d 224,
    resnext50_32x4d 224, convmixer_768_32 112, convnext_atto 224, convnextv2_atto 224, convnext_tiny 160, cspresnet50 160,
    cspdarknet53 160, densenet121 160, dla34 160, dla46x_c 224, dpn48b 160, efficientnet_b0 224, efficientnet_lite0 224,
    tf_efficientnetv2_b0 192, mixnet_s 224, mnasnet_100 224, mobilenetv2_100 224, spnasnet_100 224, fasternet_t0 224,
    focalnet_tiny_srf 160, ghostnet_100 224, ghostnetv2_100 224, hardcorenas_a 224, hgnet_tiny 160, hgnetv2_b0 224,
    hrnet_w18_small 160, inception_next_atto 224, inception_resnet_v2 160, inception_v3 160, inception_v4 160,
    lcnet_050 224, mambaout_femto 224, mobilenetv3_small_100 224, mobilenetv3_large_100 224, mobilenetv4_conv_small 224,
    nf_regnet_b0 192, eca_nfnet_l0 96, rdnet_tiny 128, regnetx_004 224, regnety_008 224,
    regnetz_005 224, repghostnet_050 224, res2net50_26w_4s 160, resnest14d 160, resnetv2_50 160, rexnet_100 224,
    selecsls42 160, seresnet50 160, skresnet18 224, starnet_s1 224, tinynet_e 0, tresnet_m 128, vgg11 96, vgg16_bn 64,
    ese_vovnet19b_dw 224, xception41 128, legacy_xception 128, gernet_s 160, repvit_m0_9 224, gmixer_12_224 0
'''
ATTENTION = '''
    botnet26t_256 0, halonet26t 0, lambda_resnet26t 0, beit_base_patch16_224 0, cait_xxs24_224 0, coat_lite_tiny 0,
    convit_tiny 0, crossvit_tiny_240 0, davit_tiny 224, deit_tiny_patch16_224 0, deit3_small_patch16_224 0, edgenext_xx_small 256,
    efficientformer_l1 0, efficientformerv2_s0 0, efficientvit_b0 224, efficientvit_m0 0, eva02_tiny_patch14_224 0,
    fastvit_t8 256, gcvit_xxtiny 0, hiera_tiny_224 0, levit_128s 0, maxvit_rmlp_pico_rw_256 0, coatnet_nano_rw_224 0,
    caformer_s18 160, poolformer_s12 224, mixer_s32_224 0, gmlp_ti16_224 0, resmlp_12_224 0, mobilevit_xxs 256,
    mobilevitv2_050 256, mvitv2_tiny 0, nest_tiny 0, nextvit_small 160, pit_ti_224 0, pvt_v2_b0 224, sequencer2d_s 0,
    swiftformer_xs 224, swin_tiny_patch4_window7_224 0, swinv2_cr_tiny_ns_224 0, tiny_vit_5m_224 0, tnt_s_legacy_patch16_224 0,
    twins_svt_small 0, visformer_tiny 0, vit_tiny_patch16_224 0, vit_small_patch32_224 0, vit_tiny_r_s16_p8_224 0,
    vit_relpos_small_patch16_224 0, volo_d1_224 0, xcit_nano_12_p16_224 0, shvit_s1 224, mobilenetv4_hybrid_medium 192
'''
# Of 32 pictures at once.
BATCHES = '''
    resnet18 96, resnet26d 64, densenet121 64, efficientnet_b0 96, mobilenetv2_100 96, mobilenetv3_small_100 128, regnetx_004 96,
    convnext_atto 96, vgg11 64, ghostnet_100 96, repvgg_a0 96, deit_tiny_patch16_224 0, mixer_s32_224 0,
    poolformer_s12 96, levit_128s 0
'''


def _network(name, side, batch):
    import timm
    import torch
    module = timm.create_model(name, pretrained=False, exportable=True)
    side = side or module.pretrained_cfg['input_size'][-1]
    return module, (torch.randn(batch, 3, side, side),)


def networks():
    for group, names, batch in (('convolutions', CONVOLUTIONS, 1), ('attention', ATTENTION, 1), ('batches', BATCHES, 32)):
        for entry in names.split(','):
            name, side = entry.split()
            yield f'{group}/{name}', functools.partial(_network, name, int(side), batch)
