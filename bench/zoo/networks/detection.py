"""Pictures and clips to boxes, masks, points, depth or other pictures.

Detectors end where their users' exports do: with decoded boxes and scores, and some with the choice of boxes as well.
"""
from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import nn

from . import pictures
from .language import library
from .pictures import conv, picture, raised, resnet
from .tables import Net, Residual


class CrossStage(nn.Module):
    """Half of the channels through blocks, half around them; `every` keeps what each block gave (YOLOv8's C2f)."""

    def __init__(self, i, o, n=1, shortcut=True, every=False, act=nn.SiLU):
        super().__init__()
        h, self.every = o // 2, every
        kind = Residual if shortcut else nn.Sequential
        self.a, self.b = conv(i, h, 1, act=act), conv(i, h, 1, act=act)
        self.blocks = nn.ModuleList([kind(conv(h, h, 3 if every else 1, act=act), conv(h, h, act=act))
                                     for _ in range(n)])
        self.out = conv(h * (2 + n if every else 2), o, 1, act=act)

    def forward(self, x):
        kept = [self.b(x), self.a(x)]
        for block in self.blocks:
            kept.append(block(kept[-1]))
        return self.out(torch.cat(kept if self.every else [kept[-1], kept[0]], 1))


class Pyramid(nn.Module):
    """Spatial pooling, one after another (SPPF)."""

    def __init__(self, i, o):
        super().__init__()
        self.a, self.b, self.pool = conv(i, i // 2, 1), conv(i * 2, o, 1), nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        kept = [self.a(x)]
        for _ in range(3):
            kept.append(self.pool(kept[-1]))
        return self.b(torch.cat(kept, 1))


class Stages(nn.Module):
    """A backbone and a neck, down and up and down again: three levels of strides 8, 16 and 32."""

    def __init__(self, w=24, every=False, focus=False):
        super().__init__()
        stage = functools.partial(CrossStage, every=every)
        self.focus = focus
        self.stem = conv(12, w, 3) if focus else conv(3, w, 3, 2)
        self.down2 = nn.Sequential(conv(w, 2 * w, 3, 2), stage(2 * w, 2 * w))
        self.down3 = nn.Sequential(conv(2 * w, 4 * w, 3, 2), stage(4 * w, 4 * w, 2))
        self.down4 = nn.Sequential(conv(4 * w, 8 * w, 3, 2), stage(8 * w, 8 * w, 2))
        self.down5 = nn.Sequential(conv(8 * w, 16 * w, 3, 2), stage(16 * w, 16 * w), Pyramid(16 * w, 16 * w))
        self.side5, self.side4 = conv(16 * w, 8 * w, 1), conv(8 * w, 4 * w, 1)
        self.up4, self.up3 = stage(16 * w, 8 * w, shortcut=False), stage(8 * w, 4 * w, shortcut=False)
        self.low3, self.low4 = conv(4 * w, 4 * w, 3, 2), conv(8 * w, 8 * w, 3, 2)
        self.out4, self.out5 = stage(8 * w, 8 * w, shortcut=False), stage(16 * w, 16 * w, shortcut=False)
        self.widths = (4 * w, 8 * w, 16 * w)

    def forward(self, x):
        if self.focus:
            x = torch.cat([x[..., i::2, j::2] for j in (0, 1) for i in (0, 1)], 1)
        x3 = self.down3(self.down2(self.stem(x)))
        x4 = self.down4(x3)
        s5 = self.side5(self.down5(x4))
        s4 = self.side4(self.up4(torch.cat([F.interpolate(s5, scale_factor=2.0), x4], 1)))
        o3 = self.up3(torch.cat([F.interpolate(s4, scale_factor=2.0), x3], 1))
        o4 = self.out4(torch.cat([self.low3(o3), s4], 1))
        return o3, o4, self.out5(torch.cat([self.low4(o4), s5], 1))


STRIDES, ANCHORS = (8, 16, 32), ((10, 13, 16, 30, 33, 23), (30, 61, 62, 45, 59, 119), (116, 90, 156, 198, 373, 326))


def grid(h, w):
    y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing='ij')
    return torch.stack([x, y], -1).float()


def anchored(heads, levels, strides, anchors, classes, old=False):
    """YOLO's heads decoded: boxes at cells of anchors, with exp (version 3) or a squared sigmoid (version 5)."""
    results = []
    for head, x, stride, anchor in zip(heads, levels, strides, anchors):
        b, _, h, w = x.shape
        y = head(x).view(b, 3, classes + 5, h, w).permute(0, 1, 3, 4, 2)
        size = torch.tensor(anchor).float().view(1, 3, 1, 1, 2)
        if old:
            xy, wh = (torch.sigmoid(y[..., :2]) + grid(h, w)) * stride, torch.exp(y[..., 2:4]) * size
            rest = y[..., 4:].sigmoid()
        else:
            xy, wh, rest = y.sigmoid().split((2, 2, classes + 1), 4)
            xy, wh = (xy * 2 - 0.5 + grid(h, w)) * stride, (wh * 2) ** 2 * size
        results.append(torch.cat([xy, wh, rest], 4).view(b, -1, classes + 5))
    return torch.cat(results, 1)


def yolo3_tiny(side=320, classes=20):
    act = functools.partial(nn.LeakyReLU, 0.1)
    widths = (3, 16, 32, 64, 128, 256)

    def run(m, x):
        x4 = m.first(x)
        x5 = m.second(x4)
        low = m.up(x5)
        high = torch.cat([F.interpolate(low, scale_factor=2.0), x4], 1)
        return anchored(m.heads, (x5, m.last(high)), (32, 16), (ANCHORS[2], ANCHORS[1]), classes, old=True)
    first = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.MaxPool2d(2), conv(a, b, act=act))][1:]
    second = nn.Sequential(nn.MaxPool2d(2), conv(256, 512, act=act), nn.ZeroPad2d((0, 1, 0, 1)), nn.MaxPool2d(2, 1),
                           conv(512, 512, act=act), conv(512, 256, 1, act=act))
    return Net(run, first=nn.Sequential(*first), second=second, up=conv(256, 128, 1, act=act),
               last=conv(384, 256, act=act), heads=[nn.Conv2d(256, 3 * (classes + 5), 1) for _ in range(2)]), (
            picture(side),)


def yolo5(side=256, classes=20):
    body = Stages(16, focus=True)
    return Net(lambda m, x: anchored(m.heads, m.body(x), STRIDES, ANCHORS, classes), body=body,
               heads=[nn.Conv2d(w, 3 * (classes + 5), 1) for w in body.widths]), (picture(side),)


def centers(levels):
    points = torch.cat([(grid(*x.shape[2:]) + 0.5).view(-1, 2) for x in levels])
    strides = torch.cat([torch.full((x.shape[2] * x.shape[3], 1), float(s)) for x, s in zip(levels, STRIDES)])
    return points, strides


def yolo8(side=256, classes=20, bins=16, masks=False, points=False):
    """A head whose sides of a box are spreads over bins; with prototypes of masks or with points of a body as well."""
    def run(m, x):
        levels = m.body(x)
        at, strides = centers(levels)
        box = torch.cat([head(x).flatten(2) for head, x in zip(m.boxes, levels)], 2)
        scores = torch.cat([head(x).flatten(2) for head, x in zip(m.scores, levels)], 2)
        sides = m.bins(box.view(1, 4, bins, -1).transpose(2, 1).softmax(1)).view(1, 4, -1).transpose(1, 2)
        low, high = at - sides[..., :2], at + sides[..., 2:]
        found = torch.cat([(low + high) / 2 * strides, (high - low) * strides, scores.sigmoid().transpose(1, 2)], 2)
        if masks or points:
            more = torch.cat([head(x).flatten(2) for head, x in zip(m.more, levels)], 2).transpose(1, 2)
        if masks:
            return torch.cat([found, more], 2).transpose(1, 2), m.prototypes(levels[0])
        if points:
            p = more.view(1, -1, 17, 3)
            xy = (p[..., :2] * 2 + at.unsqueeze(1) - 0.5) * strides.unsqueeze(1)
            found = torch.cat([found, torch.cat([xy, p[..., 2:].sigmoid()], 3).flatten(2)], 2)
        return found.transpose(1, 2)
    body = Stages(16, every=True)
    project = nn.Conv2d(bins, 1, 1, bias=False)
    project.weight.data[:] = torch.arange(bins).view(1, bins, 1, 1)

    def heads(out):
        return [nn.Sequential(conv(w, 64), conv(64, 64), nn.Conv2d(64, out, 1)) for w in body.widths]
    more = {'more': heads(32 if masks else 51)} if masks or points else {}
    if masks:
        more['prototypes'] = nn.Sequential(conv(body.widths[0], 64), nn.ConvTranspose2d(64, 64, 2, 2), conv(64, 64),
                                           conv(64, 32, 1))
    return Net(run, body=body, boxes=heads(4 * bins), scores=heads(classes), bins=project, **more), (picture(side),)


def yolox(side=256, classes=20, choose=False):
    """Heads apart for boxes and classes, no anchors; `choose`: with the suppression of boxes that overlap."""
    def run(m, x):
        levels = m.body(x)
        at, strides = centers(levels)
        kept = []
        for x, side_, box, score in zip(levels, m.sides, m.boxes, m.scores):
            x = side_(x)
            kept.append(torch.cat([box[1](box[0](x)), score(x)], 1).flatten(2))
        y = torch.cat(kept, 2).transpose(1, 2)
        xy, wh = (y[..., :2] + at) * strides, torch.exp(y[..., 2:4]) * strides
        if not choose:
            return torch.cat([xy, wh, y[..., 4:].sigmoid()], 2)
        import torchvision
        boxes = torch.cat([xy - wh / 2, xy + wh / 2], 2)[0]
        scores, labels = (y[0, :, 4:5].sigmoid() * y[0, :, 5:].sigmoid()).max(1)
        scores, order = scores.topk(50)
        boxes, labels = boxes[order], labels[order]
        keep = torchvision.ops.nms(boxes + labels.unsqueeze(1).float() * 4096, scores, 0.45)
        return boxes[keep], scores[keep], labels[keep]
    body = Stages(16)
    scores = [nn.Sequential(conv(48, 48), nn.Conv2d(48, classes, 1)) for _ in STRIDES]
    settled(body, picture(side))
    return Net(run, body=body, sides=[conv(w, 48, 1) for w in body.widths], scores=scores,
               boxes=[nn.Sequential(conv(48, 48), nn.Conv2d(48, 5, 1)) for _ in STRIDES]), (picture(side),)


def centernet(side=224, classes=20, kept=16):
    """Peaks of a map of classes, found with a pooling, and what other maps say at the peaks."""
    def run(m, x):
        x = m.body(x)
        heat = torch.sigmoid(m.heat(x))
        heat = heat * (F.max_pool2d(heat, 3, 1, 1) == heat).float()
        side = heat.shape[3]
        scores, at = heat.flatten(1).topk(kept)
        labels, at = at // (side * side), at % (side * side)
        sizes, offsets = (head(x).flatten(2).transpose(1, 2).gather(1, at.unsqueeze(2).expand(-1, -1, 2))
                          for head in (m.sizes, m.offsets))
        middle = torch.stack([at % side, at // side], 2).float() + offsets
        return torch.cat([middle - sizes / 2, middle + sizes / 2], 2) * 4, scores, labels

    def head(o):
        return nn.Sequential(conv(64, 64, norm=None, act=nn.ReLU), nn.Conv2d(64, o, 1))
    return Net(run, body=nn.Sequential(resnet(upto=3), *raised((256, 128, 64))), heat=head(classes), sizes=head(2),
               offsets=head(2)), (picture(side),)


def settled(module, *arguments):
    """With norms that fit what passes through: those of a network not trained would let it fade away."""
    norms = [m for m in module.modules() if isinstance(m, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        module.train()(*arguments)
    return module.eval()


def torchvision_detector(kind, side):
    """What the heads say with the anchors' boxes applied; or the whole, with its choice of boxes."""
    from torchvision.models import detection
    from torchvision.models.detection.backbone_utils import mobilenet_backbone
    if kind == 'ssdlite':
        net = detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=21)
        settled(net.backbone, picture(side, batch=2))
    else:
        body = mobilenet_backbone(backbone_name='mobilenet_v3_large', weights=None, fpn=True, trainable_layers=6,
                                  norm_layer=nn.BatchNorm2d)
        settled(body, torch.rand(1, 3, side, side))
        sizes = dict(min_size=side, max_size=side)
        anchors = detection.anchor_utils.AnchorGenerator(((16, 24, 32), (32, 48, 64), (64, 96, 128)),
                                                         ((0.5, 1.0, 2.0),) * 3)
        if kind == 'retinanet':
            net = detection.RetinaNet(body, 21, anchor_generator=anchors, **sizes)
        elif kind == 'fcos':
            single = detection.anchor_utils.AnchorGenerator(((8,), (16,), (32,)), ((1.0,),) * 3)
            net = detection.FCOS(body, 21, anchor_generator=single, **sizes)
        # Weights drawn narrow would give scores that lie too close to one another for an order that holds.
        if kind in ('retinanet', 'fcos'):
            net.head.classification_head.cls_logits.weight.data *= 30
        else:
            score = detection.faster_rcnn.FastRCNNPredictor(256, 5)
            more = dict(rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=20, box_detections_per_img=6,
                        box_score_thresh=0.0, rpn_anchor_generator=anchors, box_predictor=score,
                        box_head=detection.faster_rcnn.TwoMLPHead(256 * 49, 256))
            net = detection.FasterRCNN(body, None, **sizes, **more)
            net.rpn.head.cls_logits.weight.data *= 30
            score.cls_score.weight.data *= 2
            return Net(lambda m, x: tuple(m.net([x[0]])[0].values()), net=net), (torch.rand(1, 3, side, side),)

    def run(m, x):
        from torchvision.models.detection.image_list import ImageList
        levels = list(m.net.backbone(x).values())
        heads = m.net.head(levels)
        boxes = m.net.anchor_generator(ImageList(x, [(side, side)]), levels)[0]
        deltas, scores = heads['bbox_regression'], heads['cls_logits']
        coder = m.net.box_coder
        if kind == 'fcos':
            return coder.decode(deltas[0], boxes), torch.sqrt(scores.sigmoid() * heads['bbox_ctrness'].sigmoid())
        return coder.decode_single(deltas[0], boxes), scores.sigmoid() if kind == 'retinanet' else scores.softmax(-1)
    return Net(run, net=net), (picture(side),)


def named(result, *names):
    return tuple(getattr(result, n) for n in names)


def detr():
    hub = library()
    body = hub.ResNetConfig(embedding_size=32, hidden_sizes=[32, 64, 128, 256], depths=[1, 1, 1, 1], layer_type='basic',
                            out_features=['stage4'])
    net = hub.DetrForObjectDetection(hub.DetrConfig(use_timm_backbone=False, backbone_config=body,
                                                    use_pretrained_backbone=False, backbone=None, num_queries=50,
                                                    d_model=128, encoder_layers=2, decoder_layers=2,
                                                    encoder_ffn_dim=512, decoder_ffn_dim=512, encoder_attention_heads=4,
                                                    decoder_attention_heads=4, num_labels=20))
    mask = torch.ones(1, 256, 256, dtype=torch.int64)
    return Net(lambda m, x: named(m.net(pixel_values=x, pixel_mask=m.mask), 'logits', 'pred_boxes'), net=net,
               mask=mask), (picture(256),)


def yolos():
    hub = library()
    net = hub.YolosForObjectDetection(hub.YolosConfig(hidden_size=128, num_hidden_layers=4, num_attention_heads=4,
                                                      intermediate_size=512, image_size=[192, 192],
                                                      num_detection_tokens=50, num_labels=20))
    return Net(lambda m, x: named(m.net(pixel_values=x), 'logits', 'pred_boxes'), net=net), (picture(192),)


def segformer():
    hub = library()
    net = hub.SegformerForSemanticSegmentation(hub.SegformerConfig(hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1],
                                                           decoder_hidden_size=64, num_labels=20))
    return Net(lambda m, x: F.interpolate(m.net(pixel_values=x).logits, scale_factor=4.0, mode='bilinear').argmax(1),
               net=net), (picture(192),)


def dpt():
    hub = library()
    net = hub.DPTForDepthEstimation(hub.DPTConfig(hidden_size=128, num_hidden_layers=4, num_attention_heads=4,
                                                  intermediate_size=512, image_size=192,
                                                  backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[32, 48, 64, 96],
                                                  fusion_hidden_size=48, is_hybrid=False))
    return Net(lambda m, x: m.net(pixel_values=x).predicted_depth, net=net), (picture(192),)


def depth_anything():
    hub = library()
    body = hub.Dinov2Config(hidden_size=128, num_hidden_layers=4, num_attention_heads=4, image_size=196, patch_size=14,
                        out_features=['stage1', 'stage2', 'stage3', 'stage4'], reshape_hidden_states=False)
    net = hub.DepthAnythingForDepthEstimation(hub.DepthAnythingConfig(backbone_config=body, reassemble_hidden_size=128,
                                                                      neck_hidden_sizes=[24, 48, 64, 96],
                                                                      fusion_hidden_size=32))
    return Net(lambda m, x: m.net(pixel_values=x).predicted_depth, net=net), (picture(196),)


def unet(side=160, bilinear=False, w=16, classes=2):
    def two(i, o):
        return nn.Sequential(conv(i, o, act=nn.ReLU), conv(o, o, act=nn.ReLU))

    def run(m, x):
        kept = []
        for stage in m.down:
            x = stage(F.max_pool2d(x, 2) if kept else x)
            kept.append(x)
        for raise_, stage, other in zip(m.rise, m.up, kept[-2::-1]):
            x = stage(torch.cat([other, raise_(x)], 1))
        return torch.sigmoid(m.out(x))
    widths = [3] + [w << i for i in range(5)]
    pairs = list(zip(widths[1:], widths[2:]))[::-1]
    rise = [nn.Sequential(nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True), nn.Conv2d(b, a, 1))
            if bilinear else nn.ConvTranspose2d(b, a, 2, 2) for a, b in pairs]
    return Net(run, down=[two(a, b) for a, b in zip(widths, widths[1:])], rise=rise,
               up=[two(2 * a, a) for a, _ in pairs], out=nn.Conv2d(w, classes, 1)), (picture(side),)


def unet3d(w=8):
    def two(i, o):
        return nn.Sequential(nn.Conv3d(i, o, 3, padding=1), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU(),
                             nn.Conv3d(o, o, 3, padding=1), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU())

    def run(m, x):
        a = m.a(x)
        b = m.b(F.max_pool3d(a, 2))
        c = m.up1(m.c(F.max_pool3d(b, 2)))
        return m.out(m.e(torch.cat([m.up2(m.d(torch.cat([c, b], 1))), a], 1)))
    return Net(run, a=two(1, w), b=two(w, 2 * w), c=two(2 * w, 4 * w), d=two(4 * w, 2 * w), e=two(2 * w, w),
               up1=nn.ConvTranspose3d(4 * w, 2 * w, 2, 2), up2=nn.ConvTranspose3d(2 * w, w, 2, 2),
               out=nn.Conv3d(w, 3, 1)), (torch.randn(1, 1, 32, 32, 32),)


def pspnet(side=192):
    """Means of the picture in 1, 2, 3 and 6 cells, raised again and joined."""
    def run(m, x):
        size = x.shape[2:]
        x = m.body(x)
        more = [F.interpolate(c(F.adaptive_avg_pool2d(x, n)), x.shape[2:], mode='bilinear', align_corners=False)
                for n, c in zip((1, 2, 3, 6), m.cells)]
        return F.interpolate(m.out(torch.cat([x] + more, 1)), size, mode='bilinear', align_corners=True)
    return Net(run, body=resnet(upto=3), cells=[conv(256, 64, 1, act=nn.ReLU, norm=None) for _ in range(4)],
               out=nn.Sequential(conv(512, 64, act=nn.ReLU), nn.Conv2d(64, 21, 1))), (picture(side),)


def torchvision_segments(kind, side=192):
    from torchvision.models import segmentation
    if kind == 'fcn':
        from torchvision.models._utils import IntermediateLayerGetter
        import torchvision
        body = IntermediateLayerGetter(torchvision.models.resnet18(weights=None), {'layer3': 'out'})
        net = segmentation.FCN(body, segmentation.fcn.FCNHead(256, 21))
    else:
        net = getattr(segmentation, kind)(weights=None, weights_backbone=None)
    return Net(lambda m, x: m.net(x)['out'], net=net), (picture(side),)


def networks():
    makers = {'detection/yolov3 tiny': yolo3_tiny, 'detection/yolov5': yolo5, 'detection/yolov8': yolo8,
              'detection/yolov8 one class': functools.partial(yolo8, 192, 1), 'detection/yolox': yolox,
              'detection/yolox with nms': functools.partial(yolox, choose=True), 'detection/centernet': centernet,
              'detection/detr': detr, 'detection/yolos': yolos,
              'segmentation/yolov8': functools.partial(yolo8, 192, masks=True),
              'pictures/pose yolov8': functools.partial(yolo8, 192, points=True), 'segmentation/segformer': segformer,
              'pictures/dpt depth': dpt, 'pictures/depth anything': depth_anything, 'segmentation/unet': unet,
              'segmentation/unet bilinear': functools.partial(unet, bilinear=True), 'segmentation/unet 3d': unet3d,
              'segmentation/pspnet': pspnet}
    for name, kind, side in (
            ('ssdlite mobilenet', 'ssdlite', 320), ('retinanet mobilenet', 'retinanet', 128),
            ('fcos decoded', 'fcos', 128), ('fasterrcnn', 'boxes', 192)):
        makers[f'detection/{name}'] = functools.partial(torchvision_detector, kind, side)
    for kind in ('fcn', 'lraspp_mobilenet_v3_large', 'deeplabv3_mobilenet_v3_large'):
        makers[f'segmentation/{kind}'] = functools.partial(torchvision_segments, kind)
    yield from makers.items()
    yield from pictures.networks()
