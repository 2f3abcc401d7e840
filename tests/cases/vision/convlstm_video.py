"""ConvLSTM next frame prediction, R(2+1)D and divided space-time attention on moving squares."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvLSTMCell(nn.Module):
    def __init__(self, input_dim, hidden_dim, kernel_size, bias):
        super(ConvLSTMCell, self).__init__()
        self.input_dim = input_dim
        self.hidden_dim = hidden_dim
        self.kernel_size = kernel_size
        self.padding = kernel_size[0] // 2, kernel_size[1] // 2
        self.bias = bias
        self.conv = nn.Conv2d(in_channels=self.input_dim + self.hidden_dim, out_channels=4 * self.hidden_dim,
                              kernel_size=self.kernel_size, padding=self.padding, bias=self.bias)

    def forward(self, input_tensor, cur_state):
        h_cur, c_cur = cur_state
        combined = torch.cat([input_tensor, h_cur], dim=1)
        combined_conv = self.conv(combined)
        cc_i, cc_f, cc_o, cc_g = torch.split(combined_conv, self.hidden_dim, dim=1)
        i = torch.sigmoid(cc_i)
        f = torch.sigmoid(cc_f)
        o = torch.sigmoid(cc_o)
        g = torch.tanh(cc_g)
        c_next = f * c_cur + i * g
        h_next = o * torch.tanh(c_next)
        return h_next, c_next

    def init_hidden(self, batch_size, image_size):
        height, width = image_size
        return (torch.zeros(batch_size, self.hidden_dim, height, width, device=self.conv.weight.device),
                torch.zeros(batch_size, self.hidden_dim, height, width, device=self.conv.weight.device))


class ConvLSTM(nn.Module):
    def __init__(self, input_dim, hidden_dim, kernel_size, num_layers, batch_first=False, bias=True, return_all_layers=False):
        super(ConvLSTM, self).__init__()
        self._check_kernel_size_consistency(kernel_size)
        kernel_size = self._extend_for_multilayer(kernel_size, num_layers)
        hidden_dim = self._extend_for_multilayer(hidden_dim, num_layers)
        if not len(kernel_size) == len(hidden_dim) == num_layers:
            raise ValueError('Inconsistent list length.')
        self.hidden_dim, self.num_layers = hidden_dim, num_layers
        self.batch_first, self.return_all_layers = batch_first, return_all_layers
        cell_list = []
        for i in range(0, self.num_layers):
            cur_input_dim = input_dim if i == 0 else self.hidden_dim[i - 1]
            cell_list.append(ConvLSTMCell(cur_input_dim, self.hidden_dim[i], kernel_size[i], bias))
        self.cell_list = nn.ModuleList(cell_list)

    def forward(self, input_tensor, hidden_state=None):
        if not self.batch_first:
            input_tensor = input_tensor.permute(1, 0, 2, 3, 4)
        b, _, _, h, w = input_tensor.size()
        if hidden_state is not None:
            raise NotImplementedError()
        else:
            hidden_state = [self.cell_list[i].init_hidden(b, (h, w)) for i in range(self.num_layers)]
        layer_output_list, last_state_list = [], []
        seq_len = input_tensor.size(1)
        cur_layer_input = input_tensor
        for layer_idx in range(self.num_layers):
            h, c = hidden_state[layer_idx]
            output_inner = []
            for t in range(seq_len):
                h, c = self.cell_list[layer_idx](input_tensor=cur_layer_input[:, t, :, :, :], cur_state=[h, c])
                output_inner.append(h)
            layer_output = torch.stack(output_inner, dim=1)
            cur_layer_input = layer_output
            layer_output_list.append(layer_output)
            last_state_list.append([h, c])
        if not self.return_all_layers:
            layer_output_list = layer_output_list[-1:]
            last_state_list = last_state_list[-1:]
        return layer_output_list, last_state_list

    @staticmethod
    def _check_kernel_size_consistency(kernel_size):
        if not (isinstance(kernel_size, tuple) or (isinstance(kernel_size, list) and all([isinstance(elem, tuple) for elem in kernel_size]))):
            raise ValueError('`kernel_size` must be tuple or list of tuples')

    @staticmethod
    def _extend_for_multilayer(param, num_layers):
        if not isinstance(param, list):
            param = [param] * num_layers
        return param


class R2Plus1D(nn.Sequential):
    def __init__(self, cin, mid, cout):
        super().__init__(nn.Conv3d(cin, mid, (1, 3, 3), padding=(0, 1, 1), bias=False), nn.BatchNorm3d(mid), nn.ReLU(inplace=True),
                         nn.Conv3d(mid, cout, (3, 1, 1), padding=(1, 0, 0), bias=False), nn.BatchNorm3d(cout), nn.ReLU(inplace=True),
                         nn.AdaptiveAvgPool3d((1, 1, 1)), nn.Flatten(), nn.Linear(cout, 4))


class SpaceTime(nn.Module):
    def __init__(self, patch, dim, frames, patches):
        super().__init__()
        self.p = patch
        self.embed = nn.Linear(patch * patch, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.time, self.space = nn.Parameter(torch.randn(frames, 1, dim) * 0.02), nn.Parameter(torch.randn(1, patches, dim) * 0.02)
        self.t_attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.s_attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 4)

    def forward(self, v):
        b, t, _, h, w = v.shape
        x = v.unfold(3, self.p, self.p).unfold(4, self.p, self.p).reshape(b, t, -1, self.p * self.p)
        x = self.embed(x) + self.time + self.space
        s = x.shape[2]
        y = self.n1(x).transpose(1, 2).reshape(b * s, t, -1)
        x = x + self.t_attn(y, y, y, need_weights=False)[0].view(b, s, t, -1).transpose(1, 2)
        y = torch.cat([self.cls.expand(b * t, -1, -1), self.n2(x).flatten(0, 1)], 1)
        y, weights = self.s_attn(y, y, y, average_attn_weights=False)
        return self.head(y[:, 0].view(b, t, -1).mean(1)), weights


def moving(n, t=5, size=8):
    v = torch.zeros(n, t, 1, size, size)
    d = torch.arange(n) % 4
    for i in range(n):
        dx, dy = [(0, 1), (1, 0), (0, -1), (-1, 0)][d[i]]
        for k in range(t):
            r, c = (3 + dx * (k - 2)) % (size - 1), (3 + dy * (k - 2)) % (size - 1)
            v[i, k, 0, r:r + 2, c:c + 2] = 1
    return v, d


torch.manual_seed(0)
video, direction = moving(8)
net = ConvLSTM(1, [6, 4], (3, 3), 2, batch_first=True)
readout = nn.Conv2d(4, 1, 1)
opt = torch.optim.Adam([*net.parameters(), *readout.parameters()], lr=0.02)


@torch.compile(backend="aot_eager")
def predict(v):
    outputs, states = net(v[:, :-1])
    frames = readout(outputs[-1].flatten(0, 1)).unflatten(0, outputs[-1].shape[:2])
    return F.binary_cross_entropy_with_logits(frames, v[:, 1:]), states[-1][0]


for it in range(3):
    loss, h = predict(video)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"convlstm {it}: {loss.item():.4f} {tuple(h.shape)}")
try:
    ConvLSTM(1, 4, 3, 1)
except ValueError as e:
    print("ValueError:", e)
for name, model, inputs in (("r2plus1d", R2Plus1D(1, 6, 8), video.transpose(1, 2)), ("timesformer", SpaceTime(4, 16, 5, 4), video)):
    f = torch.compile(model, backend="aot_eager")
    opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    for it in range(3):
        out = f(inputs)
        logits = out[0] if isinstance(out, tuple) else out
        loss = F.cross_entropy(logits, direction, label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{name} {it}: {loss.item():.4f}")
print(out[1].shape, out[1].sum(-1).mean().item().__format__(".3f"))
