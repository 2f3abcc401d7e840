"""TopK / BatchTopK / JumpReLU sparse autoencoders, with dead feature resampling."""
from __future__ import annotations
import logging
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F
from abc import ABC, abstractmethod

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("sae")


class BaseAutoencoder(nn.Module, ABC):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        torch.manual_seed(self.cfg["seed"])
        self.b_dec = nn.Parameter(torch.zeros(self.cfg["act_size"]))
        self.b_enc = nn.Parameter(torch.zeros(self.cfg["dict_size"]))
        self.W_enc = nn.Parameter(torch.nn.init.kaiming_uniform_(torch.empty(self.cfg["act_size"], self.cfg["dict_size"])))
        self.W_dec = nn.Parameter(torch.nn.init.kaiming_uniform_(torch.empty(self.cfg["dict_size"], self.cfg["act_size"])))
        self.W_dec.data[:] = self.W_enc.t().data
        self.W_dec.data[:] = self.W_dec / self.W_dec.norm(dim=-1, keepdim=True)
        self.num_batches_not_active = torch.zeros((self.cfg["dict_size"],))

    def preprocess_input(self, x):
        if self.cfg.get("input_unit_norm", False):
            x_mean = x.mean(dim=-1, keepdim=True)
            x = x - x_mean
            x_std = x.std(dim=-1, keepdim=True)
            x = x / (x_std + 1e-5)
            return x, x_mean, x_std
        else:
            return x, None, None

    def postprocess_output(self, out, x_mean, x_std):
        if self.cfg.get("input_unit_norm", False):
            out = out * x_std + x_mean
        return out

    @torch.no_grad()
    def make_decoder_weights_and_grad_unit_norm(self):
        W_dec_normed = self.W_dec / self.W_dec.norm(dim=-1, keepdim=True)
        W_dec_grad_proj = (self.W_dec.grad * W_dec_normed).sum(-1, keepdim=True) * W_dec_normed
        self.W_dec.grad -= W_dec_grad_proj
        self.W_dec.data = W_dec_normed

    def update_inactive_features(self, acts):
        self.num_batches_not_active += (acts.sum(0) == 0).float()
        self.num_batches_not_active[acts.sum(0) > 0] = 0

    @abstractmethod
    def activation(self, pre):
        ...

    def forward(self, x):
        x, x_mean, x_std = self.preprocess_input(x)
        x_cent = x - self.b_dec
        acts = self.activation(x_cent @ self.W_enc + self.b_enc)
        recon = acts @ self.W_dec + self.b_dec
        self.update_inactive_features(acts)
        return self.get_loss_dict(x, recon, acts, x_mean, x_std)

    def get_auxiliary_loss(self, x, x_reconstruct, acts):
        dead_features = self.num_batches_not_active >= self.cfg["n_batches_to_dead"]
        if dead_features.sum() > 0:
            residual = x.float() - x_reconstruct.float()
            acts_topk_aux = torch.topk(acts[:, dead_features], min(self.cfg["top_k_aux"], int(dead_features.sum())), dim=-1)
            acts_aux = torch.zeros_like(acts[:, dead_features]).scatter(-1, acts_topk_aux.indices, acts_topk_aux.values)
            x_reconstruct_aux = acts_aux @ self.W_dec[dead_features]
            return self.cfg["aux_penalty"] * (x_reconstruct_aux.float() - residual.float()).pow(2).mean()
        else:
            return torch.tensor(0, dtype=x.dtype, device=x.device)

    def get_loss_dict(self, x, x_reconstruct, acts, x_mean, x_std):
        l2_loss = (x_reconstruct.float() - x.float()).pow(2).mean()
        l1_norm = acts.float().abs().sum(-1).mean()
        l0_norm = (acts > 0).float().sum(-1).mean()
        aux_loss = self.get_auxiliary_loss(x, x_reconstruct, acts)
        return {
            "sae_out": self.postprocess_output(x_reconstruct, x_mean, x_std),
            "feature_acts": acts,
            "num_dead_features": (self.num_batches_not_active > self.cfg["n_batches_to_dead"]).sum(),
            "loss": l2_loss + self.cfg["l1_coeff"] * l1_norm + aux_loss,
            "l2_loss": l2_loss, "l0_norm": l0_norm, "aux_loss": aux_loss,
        }


class TopKSAE(BaseAutoencoder):
    def activation(self, pre):
        acts = F.relu(pre)
        top = torch.topk(acts, self.cfg["top_k"], dim=-1)
        return torch.zeros_like(acts).scatter(-1, top.indices, top.values)


class BatchTopKSAE(BaseAutoencoder):
    def activation(self, pre):
        acts = F.relu(pre)
        top = torch.topk(acts.flatten(), self.cfg["top_k"] * acts.shape[0], dim=-1)
        return torch.zeros_like(acts.flatten()).scatter(-1, top.indices, top.values).reshape(acts.shape)


class RectangleFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return ((x > -0.5) & (x < 0.5)).float()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[(x <= -0.5) | (x >= 0.5)] = 0
        return grad_input


class JumpReLUFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, log_threshold, bandwidth):
        ctx.save_for_backward(x, log_threshold, torch.tensor(bandwidth))
        threshold = torch.exp(log_threshold)
        return x * (x > threshold).float()

    @staticmethod
    def backward(ctx, grad_output):
        x, log_threshold, bandwidth_tensor = ctx.saved_tensors
        bandwidth = bandwidth_tensor.item()
        threshold = torch.exp(log_threshold)
        x_grad = (x > threshold).float() * grad_output
        threshold_grad = (-(threshold / bandwidth) * RectangleFunction.apply((x - threshold) / bandwidth) * grad_output)
        return x_grad, threshold_grad, None


class JumpReLUSAE(BaseAutoencoder):
    def __init__(self, cfg):
        super().__init__(cfg)
        self.log_threshold = nn.Parameter(torch.full((cfg["dict_size"],), -2.0))

    def activation(self, pre):
        return JumpReLUFunction.apply(F.relu(pre), self.log_threshold, self.cfg["bandwidth"])


cfg = dict(seed=49, act_size=16, dict_size=48, top_k=4, top_k_aux=8, n_batches_to_dead=2, aux_penalty=1 / 32, l1_coeff=0.0,
           input_unit_norm=True, bandwidth=0.05)
data = torch.randn(5, 24, 16, generator=torch.Generator().manual_seed(0))
for cls in (TopKSAE, BatchTopKSAE, JumpReLUSAE):
    sae = cls(cfg)
    optimizer = torch.optim.Adam(sae.parameters(), lr=1e-3, betas=(0.9, 0.99))
    run = sae if cls is JumpReLUSAE else torch.compile(sae, backend="aot_eager")
    for i in range(5):
        out = run(data[i])
        loss = out["loss"]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(sae.parameters(), 1.0)
        sae.make_decoder_weights_and_grad_unit_norm()
        optimizer.step()
        optimizer.zero_grad()
        log.info("%s %d loss=%.4f l0=%.2f dead=%d aux=%.5f", cls.__name__, i, loss.item(), out["l0_norm"], out["num_dead_features"], out["aux_loss"])
    if cls is JumpReLUSAE:
        print(sae.log_threshold.exp().mean().item().__format__(".4f"))
try:
    BaseAutoencoder(cfg)
except TypeError as e:
    print(type(e).__name__, "abstract" in str(e))
