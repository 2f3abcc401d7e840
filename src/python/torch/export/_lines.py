"""Where PyTorch's own modules make their calls: a file, a line, and the code there, which an exported program shows beside them."""

# Per file, rows of modules (with the operator, where a module has several lines, and which of its calls: the first is 0, the last -1), the
# line and its code. `?norm_first` is of modules that normalize first.
_ROWS = """
linear.py
Linear 134 return F.linear(input, self.weight, self.bias)
Bilinear 247 return F.bilinear(input1, input2, self.weight, self.bias)
conv.py
Conv1d 385 return self._conv_forward(input, self.weight, self.bias)
Conv2d 565 return self._conv_forward(input, self.weight, self.bias)
Conv3d 735 return self._conv_forward(input, self.weight, self.bias)
ConvTranspose1d 1000 return F.conv_transpose1d(
ConvTranspose2d 1198 return F.conv_transpose2d(
ConvTranspose3d 1382 return F.conv_transpose3d(
batchnorm.py
BatchNorm1d/add_ BatchNorm2d/add_ BatchNorm3d/add_ 190 self.num_batches_tracked.add_(1)  # type: ignore[has-type]
BatchNorm1d BatchNorm2d BatchNorm3d 210 return F.batch_norm(
instancenorm.py
InstanceNorm1d InstanceNorm2d InstanceNorm3d 133 return self._apply_instance_norm(input)
normalization.py
GroupNorm 334 return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)
LayerNorm 228 return F.layer_norm(
RMSNorm 427 return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
LocalResponseNorm 65 return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)
dropout.py
Dropout 73 return F.dropout(input, self.p, self.training, self.inplace)
Dropout1d 121 return F.dropout1d(input, self.p, self.training, self.inplace)
Dropout2d 176 return F.dropout2d(input, self.p, self.training, self.inplace)
Dropout3d 224 return F.dropout3d(input, self.p, self.training, self.inplace)
AlphaDropout 269 return F.alpha_dropout(input, self.p, self.training)
FeatureAlphaDropout 323 return F.feature_alpha_dropout(input, self.p, self.training)
pooling.py
MaxPool1d 144 return F.max_pool1d(
MaxPool2d 224 return F.max_pool2d(
MaxPool3d 308 return F.max_pool3d(
AvgPool1d 670 return F.avg_pool1d(
AvgPool2d 779 return F.avg_pool2d(
AvgPool3d 896 return F.avg_pool3d(
AdaptiveAvgPool1d 1474 return F.adaptive_avg_pool1d(input, self.output_size)
AdaptiveAvgPool2d 1514 return F.adaptive_avg_pool2d(input, self.output_size)
AdaptiveAvgPool3d 1554 return F.adaptive_avg_pool3d(input, self.output_size)
AdaptiveMaxPool1d 1345 return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)
AdaptiveMaxPool2d 1388 return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)
AdaptiveMaxPool3d 1432 return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
LPPool1d 1169 return F.lp_pool1d(
LPPool2d 1229 return F.lp_pool2d(
sparse.py
Embedding 189 return F.embedding(
EmbeddingBag 461 return F.embedding_bag(
flatten.py
Flatten 55 return input.flatten(self.start_dim, self.end_dim)
Unflatten 130 return input.unflatten(self.dim, self.unflattened_size)
upsampling.py
Upsample UpsamplingNearest2d UpsamplingBilinear2d 174 return F.interpolate(
pixelshuffle.py
PixelShuffle 62 return F.pixel_shuffle(input, self.upscale_factor)
PixelUnshuffle 121 return F.pixel_unshuffle(input, self.downscale_factor)
channelshuffle.py
ChannelShuffle 56 return F.channel_shuffle(input, self.groups)
fold.py
Fold 153 return F.fold(
Unfold 324 return F.unfold(
padding.py
ReflectionPad1d ReflectionPad2d ReflectionPad3d 377 return F.pad(input, self.padding, "reflect")
ReplicationPad1d ReplicationPad2d ReplicationPad3d 541 return F.pad(input, self.padding, "replicate")
ZeroPad1d ZeroPad2d ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d 221 return F.pad(input, self.padding, "constant", self.value)
CircularPad1d CircularPad2d CircularPad3d 42 return F.pad(input, self.padding, "circular")
rnn.py
RNNCell/zeros 1628 hx = torch.zeros(
RNNCell/rnn_tanh_cell 1635 ret = _VF.rnn_tanh_cell(
RNNCell/rnn_relu_cell 1644 ret = _VF.rnn_relu_cell(
LSTMCell/lstm_cell 1758 ret = _VF.lstm_cell(
LSTMCell/zeros 1751 zeros = torch.zeros(
GRUCell/zeros 1859 hx = torch.zeros(
GRUCell/gru_cell 1865 ret = _VF.gru_cell(
RNN/rnn_tanh 746 result = _VF.rnn_tanh(
RNN/zeros 726 hx = torch.zeros(
LSTM/lstm 1165 result = _VF.lstm(
LSTM/zeros#0 1126 h_zeros = torch.zeros(
LSTM/zeros 1133 c_zeros = torch.zeros(
GRU/gru 1441 result = _VF.gru(
GRU/zeros 1426 hx = torch.zeros(
activation.py
MultiheadAttention 1495 attn_output, attn_output_weights = F.multi_head_attention_forward(
MultiheadAttention/transpose#0 1461 query = key = value = query.transpose(1, 0)
MultiheadAttention/transpose#0of7 MultiheadAttention/transpose#1of7 1463 query, key = (x.transpose(1, 0) for x in (query, key))
MultiheadAttention/transpose#-1 1517 attn_output = attn_output.transpose(1, 0)
ReLU 143 return F.relu(input, inplace=self.inplace)
ReLU6 Hardtanh 294 return F.hardtanh(input, self.min_val, self.max_val, self.inplace)
ELU 620 return F.elu(input, self.alpha, self.inplace)
SELU 727 return F.selu(input, self.inplace)
CELU 671 return F.celu(input, self.alpha, self.inplace)
GELU 817 return F.gelu(input, approximate=self.approximate)
SiLU 476 return F.silu(input, inplace=self.inplace)
Mish 521 return F.mish(input, inplace=self.inplace)
Sigmoid 361 return torch.sigmoid(input)
Tanh 433 return torch.tanh(input)
Softplus 1001 return F.softplus(input, self.beta, self.threshold)
Softsign 1681 return F.softsign(input)
Hardsigmoid 404 return F.hardsigmoid(input, self.inplace)
Hardswish 573 return F.hardswish(input, self.inplace)
LeakyReLU 923 return F.leaky_relu(input, self.negative_slope, self.inplace)
LogSigmoid 956 return F.logsigmoid(input)
Softshrink 1048 return F.softshrink(input, self.lambd)
Hardshrink 866 return F.hardshrink(input, self.lambd)
Tanhshrink 1707 return F.tanhshrink(input)
PReLU 1649 return F.prelu(input, self.weight)
RReLU 209 return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)
GLU 769 return F.glu(input, self.dim)
Threshold 94 return F.threshold(input, self.threshold, self.value, self.inplace)
Softmax 1824 return F.softmax(input, self.dim, _stacklevel=5)
LogSoftmax 1911 return F.log_softmax(input, self.dim, _stacklevel=5)
Softmin 1757 return F.softmin(input, self.dim, _stacklevel=5)
Softmax2d 1863 return F.softmax(input, -3, _stacklevel=5)
transformer.py
TransformerEncoderLayer?norm_first/add#0 947 x = x + self._sa_block(
TransformerEncoderLayer?norm_first 950 x = x + self._ff_block(self.norm2(x))
TransformerEncoderLayer/add#0 953 x
TransformerEncoderLayer 956 x = self.norm2(x + self._ff_block(x))
TransformerDecoderLayer?norm_first/add#0 1129 x = x + self._sa_block(
TransformerDecoderLayer?norm_first/add#1 1132 x = x + self._mha_block(
TransformerDecoderLayer?norm_first 1139 x = x + self._ff_block(self.norm3(x))
TransformerDecoderLayer/add#0 1142 x + self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
TransformerDecoderLayer/add#1 1145 x
TransformerDecoderLayer 1150 x = self.norm3(x + self._ff_block(x))
distance.py
CosineSimilarity 100 return F.cosine_similarity(x1, x2, self.dim, self.eps)
PairwiseDistance 61 return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
loss.py
MSELoss 630 return F.mse_loss(input, target, reduction=self.reduction)
L1Loss 133 return F.l1_loss(input, target, reduction=self.reduction)
SmoothL1Loss 1078 return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)
HuberLoss 1150 return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)
BCELoss 714 return F.binary_cross_entropy(
BCEWithLogitsLoss 838 return F.binary_cross_entropy_with_logits(
CrossEntropyLoss 1400 return F.cross_entropy(
NLLLoss 260 return F.nll_loss(
KLDivLoss 562 return F.kl_div(
PoissonNLLLoss 367 return F.poisson_nll_loss(
HingeEmbeddingLoss 920 return F.hinge_embedding_loss(
CosineEmbeddingLoss 1738 return F.cosine_embedding_loss(
MarginRankingLoss 1805 return F.margin_ranking_loss(
TripletMarginLoss 2004 return F.triplet_margin_loss(
MultiLabelSoftMarginLoss 1666 return F.multilabel_soft_margin_loss(
SoftMarginLoss 1197 return F.soft_margin_loss(input, target, reduction=self.reduction)
MultiMarginLoss 1896 return F.multi_margin_loss(
"""


def _parsed(rows):
    file, found = None, {}
    for row in rows.strip().split("\n"):
        words = row.split(" ")
        at = next((i for i, word in enumerate(words) if word.isdigit()), None)
        if at is None:
            file = row
            continue
        for name in words[:at]:
            found[name] = (file, int(words[at]), " ".join(words[at + 1 :]))
    return found


_LINES = _parsed(_ROWS)


def library_line(module, operator, index=0, count=1):
    """The file, line and code of a call of an operator in the `forward` of one of PyTorch's modules; None in a script's. It is number
    `index` of so many calls of the operator there."""
    for cls in type(module).__mro__:
        if not cls.__module__.startswith("torch.nn."):
            if "forward" in vars(cls):
                return None
            continue
        names = [f"{cls.__name__}?norm_first"] if getattr(module, "norm_first", False) else []
        for name in (*names, cls.__name__):
            wanted = (f"{name}/{operator}#{index}of{count}", f"{name}/{operator}#{index}", f"{name}/{operator}#{index - count}", f"{name}/{operator}", name)
            found = next((_LINES[key] for key in wanted if key in _LINES), None)
            if found is not None:
                return found
    return None


# Where modules of PyTorch's call those that they are made of, by the child's name where several lines do.
_CALLERS = _parsed("""
container.py
Sequential 259 input = module(input)
transformer.py
TransformerEncoder 542 output = mod(
TransformerDecoder 646 output = mod(
TransformerEncoderLayer/self_attn TransformerEncoderLayer/dropout1 954 + self._sa_block(x, src_mask, src_key_padding_mask, is_causal=is_causal)
TransformerEncoderLayer/norm1 952 x = self.norm1(
TransformerEncoderLayer 956 x = self.norm2(x + self._ff_block(x))
TransformerEncoderLayer?norm_first/self_attn TransformerEncoderLayer?norm_first/dropout1 947 x = x + self._sa_block(
TransformerEncoderLayer?norm_first/norm1 948 self.norm1(x), src_mask, src_key_padding_mask, is_causal=is_causal
TransformerEncoderLayer?norm_first 950 x = x + self._ff_block(self.norm2(x))
TransformerDecoderLayer/self_attn TransformerDecoderLayer/dropout1 1142 x + self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
TransformerDecoderLayer/norm1 1141 x = self.norm1(
TransformerDecoderLayer/multihead_attn TransformerDecoderLayer/dropout2 1146 + self._mha_block(
TransformerDecoderLayer/norm2 1144 x = self.norm2(
TransformerDecoderLayer 1150 x = self.norm3(x + self._ff_block(x))
TransformerDecoderLayer?norm_first/self_attn TransformerDecoderLayer?norm_first/dropout1 1129 x = x + self._sa_block(
TransformerDecoderLayer?norm_first/norm1 1130 self.norm1(x), tgt_mask, tgt_key_padding_mask, tgt_is_causal
TransformerDecoderLayer?norm_first/multihead_attn TransformerDecoderLayer?norm_first/dropout2 1132 x = x + self._mha_block(
TransformerDecoderLayer?norm_first/norm2 1133 self.norm2(x),
TransformerDecoderLayer?norm_first 1139 x = x + self._ff_block(self.norm3(x))
""")


def caller_line(module, child):
    """The frame in which one of PyTorch's modules calls one that it is made of; None where that is not told."""
    if not type(module).__module__.startswith("torch.nn."):
        return None
    name = type(module).__name__ + ("?norm_first" if getattr(module, "norm_first", False) else "")
    found = _CALLERS.get(f"{name}/{child}") or _CALLERS.get(name)
    return None if found is None else frame_text(*found)


def frame_text(file, line, code):
    """A frame as tracebacks tell it."""
    return f'  File "{file}", line {line}, in forward\n    {code.strip()}'


__all__ = ["caller_line", "frame_text", "library_line"]
