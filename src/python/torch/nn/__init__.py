"""`torch.nn`: modules by name, each file read when one of its names is first used."""

_PARTS = {
    "modules.module": "Module",
    "modules.linear": "Bilinear Identity LazyLinear Linear",
    "modules.activation": (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish MultiheadAttention "
        "PReLU RReLU ReLU ReLU6 SELU Sigmoid SiLU Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink "
        "Threshold"
    ),
    "modules.adaptive": "AdaptiveLogSoftmaxWithLoss",
    "modules.batchnorm": (
        "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm"
    ),
    "modules.channelshuffle": "ChannelShuffle",
    "modules.container": (
        "Container ModuleDict ModuleList ParameterDict ParameterList Sequential"
    ),
    "modules.conv": (
        "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d LazyConv3d "
        "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d"
    ),
    "modules.distance": "CosineSimilarity PairwiseDistance",
    "modules.dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "modules.flatten": "Flatten Unflatten",
    "modules.fold": "Fold Unfold",
    "modules.instancenorm": (
        "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d"
    ),
    "modules.loss": (
        "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss HingeEmbeddingLoss HuberLoss "
        "KLDivLoss L1Loss LinearCrossEntropyLoss MSELoss MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss "
        "MultiMarginLoss NLLLoss NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss "
        "TripletMarginWithDistanceLoss"
    ),
    "modules.normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "modules.padding": (
        "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d "
        "ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d"
    ),
    "modules.pixelshuffle": "PixelShuffle PixelUnshuffle",
    "modules.pooling": (
        "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d "
        "AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d "
        "MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d"
    ),
    "modules.rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "modules.sparse": "Embedding EmbeddingBag",
    "modules.transformer": (
        "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer"
    ),
    "modules.upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    "parameter": "Buffer Parameter UninitializedBuffer UninitializedParameter",
    "parallel": "DataParallel",
}
_HOME = {name: part for part, names in _PARTS.items() for name in names.split()}
_SUBMODULES = ("attention", "functional", "grad", "init", "modules", "parallel", "parameter", "utils")

__all__ = sorted(_HOME)


def __getattr__(name):
    if name in _SUBMODULES:
        return __import__(f"torch.nn.{name}", fromlist=["_"])
    part = _HOME.get(name)
    if part is None:
        from torch._absent import attribute_error

        raise attribute_error("torch.nn", name)
    value = getattr(__import__(f"torch.nn.{part}", fromlist=[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOME, *_SUBMODULES})


def factory_kwargs(kwargs):
    """What of `kwargs` goes to functions that make tensors."""
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    if not kwargs.keys() <= simple | {"factory_kwargs"}:
        raise TypeError(f"unexpected kwargs {kwargs.keys() - simple - {'factory_kwargs'}}")
    result = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & kwargs.keys():
        if key in result:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        result[key] = kwargs[key]
    return result
