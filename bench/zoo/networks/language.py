"""Text to states or logits: one or more of each family that transformers has, with small random configurations."""
from __future__ import annotations

import functools

# What most configurations call these things; a network's own row overrides, and `...` there leaves one out.
COMMON = dict(vocab_size=2000, hidden_size=256, num_hidden_layers=3, num_attention_heads=4, intermediate_size=1024,
              max_position_embeddings=512, initializer_range=0.06, pad_token_id=0, bos_token_id=1, eos_token_id=2,
              use_cache=False)
GQA = dict(hidden_size=320, num_attention_heads=8, num_key_value_heads=2, intermediate_size=896, vocab_size=3000)
BART = dict(d_model=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=1024, decoder_ffn_dim=1024, decoder_start_token_id=2, init_std=0.06)
T5 = dict(d_model=256, d_kv=64, d_ff=768, num_layers=2, num_decoder_layers=2, num_heads=4, decoder_start_token_id=0)
N_GPT = dict(n_embd=256, n_layer=3, n_head=4, n_positions=512)
EXPERTS = dict(hidden_size=256, num_attention_heads=4, num_key_value_heads=2, intermediate_size=384,
               num_hidden_layers=2)

# Name, class of transformers, tokens, words of how (eager or sdpa; mask: with a padded tail; batch), configuration.
ENCODERS = [
    ('albert', 'AlbertModel', 128, 'sdpa', dict(embedding_size=128)),
    ('albert-mask', 'AlbertForSequenceClassification', 64, 'eager mask', dict(embedding_size=64, num_hidden_layers=4)),
    ('bert', 'BertModel', 128, 'sdpa', {}),
    ('bert-mask', 'BertForMaskedLM', 128, 'sdpa mask', {}),
    ('bert-batch4', 'BertForSequenceClassification', 64, 'eager mask batch4', dict(num_hidden_layers=2)),
    ('bert-long', 'BertForTokenClassification', 256, 'eager', dict(num_labels=9)),
    ('bert-answers', 'BertForQuestionAnswering', 192, 'sdpa mask', {}),
    ('bigbird', 'BigBirdModel', 256, 'eager', dict(attention_type='original_full')),
    ('bigbird-sparse', 'BigBirdModel', 256, 'eager', dict(attention_type='block_sparse', block_size=16,
                                                         num_random_blocks=2)),
    ('camembert', 'CamembertForTokenClassification', 96, 'sdpa', {}),
    ('canine', 'CanineModel', 256, 'eager', dict(num_hash_buckets=512)),
    ('convbert', 'ConvBertModel', 128, 'eager', dict(embedding_size=128)),
    ('data2vec', 'Data2VecTextModel', 128, 'eager', {}),
    ('deberta', 'DebertaModel', 128, 'eager mask', dict(relative_attention=True, pos_att_type=['c2p', 'p2c'])),
    ('deberta-v2', 'DebertaV2Model', 128, 'eager mask', dict(
        relative_attention=True, pos_att_type=['c2p', 'p2c'], position_buckets=64, share_att_key=True,
        norm_rel_ebd='layer_norm')),
    ('deberta-v2-conv', 'DebertaV2ForMaskedLM', 64, 'eager', dict(
        relative_attention=True, pos_att_type=['c2p', 'p2c'], conv_kernel_size=3)),
    ('distilbert', 'DistilBertForSequenceClassification', 128, 'sdpa mask', dict(dim=256, n_layers=3, n_heads=4,
                                                                                hidden_dim=1024)),
    ('electra', 'ElectraForPreTraining', 128, 'sdpa', dict(embedding_size=128)),
    ('ernie', 'ErnieModel', 128, 'sdpa', {}),
    ('esm', 'EsmModel', 200, 'eager mask', dict(vocab_size=33, mask_token_id=32, position_embedding_type='rotary')),
    ('eurobert', 'EuroBertModel', 128, 'sdpa mask', dict(num_key_value_heads=2)),
    ('flaubert', 'FlaubertModel', 96, 'eager', dict(emb_dim=256, n_layers=3, n_heads=4)),
    ('fnet', 'FNetModel', 128, 'eager', {}),
    ('funnel', 'FunnelModel', 128, 'eager', dict(d_model=256, n_head=4, d_head=64, d_inner=768, block_sizes=[1, 1, 1],
                                                num_decoder_layers=1, num_hidden_layers=...)),
    ('ibert', 'IBertModel', 128, 'eager', dict(quant_mode=False)),
    ('layoutlm', 'LayoutLMModel', 128, 'eager', {}),
    ('layoutlm3', 'LayoutLMv3Model', 96, 'eager', dict(coordinate_size=32, shape_size=64, visual_embed=False)),
    ('lilt', 'LiltModel', 96, 'eager', dict(channel_shrink_ratio=4, hidden_size=288, num_attention_heads=6)),
    ('luke', 'LukeModel', 96, 'eager', dict(entity_vocab_size=100, entity_emb_size=64)),
    ('megatron-bert', 'MegatronBertModel', 128, 'eager', {}),
    ('mobilebert', 'MobileBertModel', 128, 'eager', dict(embedding_size=128, num_hidden_layers=4, hidden_size=256,
                                                        intra_bottleneck_size=128, intermediate_size=256)),
    ('modernbert', 'ModernBertForMaskedLM', 192, 'sdpa', dict(local_attention=64, num_hidden_layers=4,
                                                             intermediate_size=512)),
    ('mpnet', 'MPNetModel', 128, 'eager mask', {}),
    ('mra', 'MraModel', 128, 'eager', dict(block_per_row=2)),
    ('nomic-bert', 'NomicBertModel', 128, 'sdpa mask', {}),
    ('rembert', 'RemBertModel', 128, 'eager', dict(input_embedding_size=128, output_embedding_size=256)),
    ('roberta', 'RobertaModel', 128, 'sdpa mask', dict(pad_token_id=1, bos_token_id=0)),
    ('roberta-prenorm', 'RobertaPreLayerNormForMaskedLM', 128, 'sdpa', {}),
    ('roc-bert', 'RoCBertModel', 128, 'eager', dict(pronunciation_vocab_size=300, shape_vocab_size=300,
                                                   pronunciation_embed_dim=64, shape_embed_dim=64)),
    ('roformer', 'RoFormerModel', 128, 'eager mask', dict(embedding_size=128)),
    ('splinter', 'SplinterModel', 128, 'eager', {}),
    ('squeezebert', 'SqueezeBertModel', 128, 'eager', dict(embedding_size=256)),
    ('tapas', 'TapasModel', 96, 'eager', {}),
    ('xlm', 'XLMModel', 128, 'eager', dict(emb_dim=256, n_layers=3, n_heads=4)),
    ('xlm-roberta', 'XLMRobertaForSequenceClassification', 64, 'sdpa mask batch4', dict(num_hidden_layers=2)),
    ('xlm-roberta-xl', 'XLMRobertaXLModel', 96, 'sdpa', {}),
    ('xlnet', 'XLNetModel', 128, 'eager', dict(d_model=256, n_layer=3, n_head=4, d_inner=1024,
                                             max_position_embeddings=...)),
    ('xmod', 'XmodModel', 96, 'sdpa', dict(languages=['en', 'de'], default_language='en')),
    ('yoso', 'YosoModel', 128, 'eager', dict(use_expectation=True)),
]
DECODERS = [
    ('arcee', 'ArceeForCausalLM', 96, 'sdpa', GQA),
    ('biogpt', 'BioGptForCausalLM', 128, 'sdpa', {}),
    ('bitnet', 'BitNetForCausalLM', 64, 'sdpa', GQA),
    ('bloom', 'BloomForCausalLM', 128, 'eager', dict(n_layer=3, n_head=4)),
    ('codegen', 'CodeGenForCausalLM', 96, 'eager', dict(N_GPT, n_ctx=512, rotary_dim=32)),
    ('ctrl', 'CTRLLMHeadModel', 96, 'eager', dict(n_embd=256, n_layer=3, n_head=4, dff=768, n_positions=512)),
    ('exaone4', 'Exaone4ForCausalLM', 96, 'sdpa', dict(GQA, sliding_window=64, sliding_window_pattern=2)),
    ('falcon', 'FalconForCausalLM', 128, 'sdpa', dict(alibi=False, multi_query=True, ffn_hidden_size=1024)),
    ('gemma', 'GemmaForCausalLM', 128, 'sdpa', dict(GQA, head_dim=64)),
    ('gemma2', 'Gemma2ForCausalLM', 128, 'eager', dict(GQA, head_dim=64, sliding_window=64)),
    ('glm', 'GlmForCausalLM', 96, 'sdpa', dict(GQA, head_dim=40)),
    ('gpt-neo', 'GPTNeoForCausalLM', 128, 'eager', dict(num_hidden_layers=4, num_heads=4, window_size=64,
                                                        attention_types=[[['global', 'local'], 2]])),
    ('gpt2', 'GPT2LMHeadModel', 128, 'sdpa', N_GPT),
    ('gptj', 'GPTJForCausalLM', 96, 'eager', dict(N_GPT, rotary_dim=32)),
    ('llama', 'LlamaForCausalLM', 128, 'sdpa', GQA),
    ('modernbert-decoder', 'ModernBertDecoderForCausalLM', 128, 'sdpa', dict(local_attention=64,
                                                                            intermediate_size=512)),
    ('nemotron', 'NemotronForCausalLM', 96, 'eager', dict(GQA, head_dim=40)),
    ('olmo', 'OlmoForCausalLM', 96, 'sdpa', dict(GQA, clip_qkv=8.0)),
    ('opt', 'OPTForCausalLM', 128, 'sdpa', dict(ffn_dim=1024, word_embed_proj_dim=128)),
    ('phi', 'PhiForCausalLM', 96, 'sdpa', {}),
    ('phi3', 'Phi3ForCausalLM', 128, 'eager', GQA),
    ('qwen2', 'Qwen2ForCausalLM', 128, 'sdpa mask', GQA),
    ('qwen3', 'Qwen3ForCausalLM', 128, 'sdpa', dict(GQA, head_dim=64)),
]
MIXTURES = [
    ('deepseek-v3', 'DeepseekV3ForCausalLM', 32, 'sdpa', dict(
        EXPERTS, num_key_value_heads=4, q_lora_rank=96, kv_lora_rank=64, qk_nope_head_dim=32, qk_rope_head_dim=16,
        v_head_dim=32, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=128, n_shared_experts=1,
        first_k_dense_replace=1, n_group=2, topk_group=1, head_dim=16)),
    ('ernie4.5-moe', 'Ernie4_5_MoeForCausalLM', 32, 'sdpa', dict(EXPERTS, moe_num_experts=8, moe_k=2,
                                                                 moe_intermediate_size=128, moe_layer_start_index=1)),
    ('gpt-oss', 'GptOssForCausalLM', 32, 'eager', dict(EXPERTS, intermediate_size=192, num_local_experts=4, head_dim=64,
                                                       num_experts_per_tok=2, sliding_window=16)),
    ('granite-moe', 'GraniteMoeForCausalLM', 32, 'sdpa', dict(EXPERTS, intermediate_size=128, num_local_experts=8,
                                                             num_experts_per_tok=2)),
    ('mixtral', 'MixtralForCausalLM', 32, 'sdpa', dict(EXPERTS, num_local_experts=4, intermediate_size=256)),
    ('olmoe', 'OlmoeForCausalLM', 32, 'eager', dict(EXPERTS, num_experts=8, num_experts_per_tok=2,
                                                    intermediate_size=128)),
    ('phimoe', 'PhimoeForCausalLM', 32, 'sdpa', dict(EXPERTS, num_local_experts=4, intermediate_size=256)),
    ('qwen2-moe', 'Qwen2MoeForCausalLM', 32, 'sdpa', dict(EXPERTS, num_experts=8, num_experts_per_tok=2,
                                                         moe_intermediate_size=128,
                                                         shared_expert_intermediate_size=256)),
]
RECURRENT = [
    ('bamba', 'BambaForCausalLM', 64, 'eager', dict(
        EXPERTS, attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=64, mamba_d_state=32, mamba_chunk_size=32)),
    ('mamba', 'MambaForCausalLM', 64, '', dict(num_hidden_layers=2, state_size=16)),
]
TRANSLATORS = [
    ('marian', 'MarianMTModel', 96, 'sdpa mask', BART),
    ('t5', 'T5ForConditionalGeneration', 96, 'eager', T5),
]
# With a cache: the past's heads and their width.
STEPS = [
    ('gpt2', 'GPT2LMHeadModel', 'sdpa', dict(N_GPT, vocab_size=5000), 4, 64),
    ('llama', 'LlamaForCausalLM', 'sdpa', dict(GQA, hidden_size=512, vocab_size=4000, num_hidden_layers=4), 2, 64),
    ('qwen2', 'Qwen2ForCausalLM', 'sdpa', GQA, 2, 40),
]
TRANSLATOR_STEPS = [
    ('bart', 'BartForConditionalGeneration', 'sdpa', BART),
]


def library():
    """transformers, that must not load torch_npu where it finds it: what is exported is made on the host."""
    import transformers
    from transformers.utils import import_utils
    if not hasattr(import_utils, 'any_package'):
        import_utils.any_package = plain = import_utils._is_package_available
        import_utils._is_package_available = lambda name, *rest, **more: (
            (False, 'N/A') if name == 'torch_npu' else plain(name, *rest, **more))
    return transformers


def full(config, **more):
    return {key: value for key, value in {**COMMON, **config, **more}.items() if value is not ...}


def build(kind, how, config):
    """A network of transformers by its class's name; biases and gains are not all 0 and 1, as they are at first."""
    import torch
    kind = getattr(library(), kind)
    config = kind.config_class(**config)
    for attention in ('eager', 'sdpa'):
        if attention in how:
            config._attn_implementation = attention
    # Loops over the experts that the tokens happen to reach cannot be exported; a product of gathered weights can.
    config._experts_implementation = 'batched_mm'
    module = kind(config).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim == 1:
                parameter += 0.05 * torch.randn_like(parameter)
    return module


def wrapped(call, model):
    """A module that does `call(model, *tensors)`, which returns tensors only."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *tensors):
            return call(self.model, *tensors)
    return Wrapped()


def main_result(result):
    for name in ('logits', 'last_hidden_state', 'start_logits', 'text_embeds', 'logits_per_image'):
        if getattr(result, name, None) is not None:
            return result[name]
    return result[0]


def _ids(config, batch, tokens):
    import torch
    return torch.randint(5, min(config.get('vocab_size', 2000), 2000) - 1, (batch, tokens))


def _tail(batch, tokens):
    """A mask of which each row's last eighth, or a bit more, is padding."""
    import torch
    ends = tokens - tokens // 8 - 3 * torch.arange(batch)
    return (torch.arange(tokens)[None] < ends[:, None]).long()


def _batch(how):
    return 4 if 'batch4' in how else 1


def _text(kind, tokens, how, config):
    config = full(config)
    model = build(kind, how, config)
    arguments = [_ids(config, _batch(how), tokens)]
    if 'mask' in how:
        arguments.append(_tail(_batch(how), tokens))
        return wrapped(lambda m, ids, mask: main_result(m(input_ids=ids, attention_mask=mask)), model), arguments
    return wrapped(lambda m, ids: main_result(m(input_ids=ids)), model), arguments


def _translator(kind, tokens, how, config):
    if 'Encoder' in kind:
        return _text(kind, tokens, how, config)
    config = full(config)
    model = build(kind, how, config)
    arguments = [_ids(config, 1, tokens), _ids(config, 1, tokens // 3)]
    if 'mask' in how:
        arguments.append(_tail(1, tokens))
        return wrapped(lambda m, ids, to, mask: main_result(
            m(input_ids=ids, decoder_input_ids=to, attention_mask=mask)), model), arguments
    return wrapped(lambda m, ids, to: main_result(m(input_ids=ids, decoder_input_ids=to)), model), arguments


def _step(kind, how, config, heads, width, past=128):
    """One token beside a past of keys and values, which come back one longer."""
    import torch
    DynamicCache = library().DynamicCache
    config = full(config, use_cache=True)
    model = build(kind, how, config)
    layers, batch = model.config.num_hidden_layers, _batch(how)

    def call(model, token, mask, *states):
        cache = DynamicCache()
        for layer in range(layers):
            cache.update(states[2 * layer], states[2 * layer + 1], layer)
        logits = model(input_ids=token, attention_mask=mask, past_key_values=cache, use_cache=True).logits
        return logits, *[state for layer in cache.layers for state in (layer.keys, layer.values)]
    mask = torch.ones(batch, past + 1, dtype=torch.int64)
    mask[:, :9] = 0  # decoders are padded in front
    states = [torch.randn(batch, heads, past, width) for _ in range(2 * layers)]
    return wrapped(call, model), [_ids(config, batch, 1), mask, *states]


def _translator_step(kind, how, config, source=96, past=32):
    import torch
    from transformers import DynamicCache, EncoderDecoderCache
    from transformers.modeling_outputs import BaseModelOutput
    config = full(config, use_cache=True)
    model = build(kind, how, config)
    layers = config.get('decoder_layers') or config['num_decoder_layers']

    def call(model, token, encoded, *states):
        own, cross = DynamicCache(), DynamicCache()
        for layer in range(layers):
            own.update(states[4 * layer], states[4 * layer + 1], layer)
            cross.update(states[4 * layer + 2], states[4 * layer + 3], layer)
        logits = model(encoder_outputs=BaseModelOutput(last_hidden_state=encoded), decoder_input_ids=token,
                       past_key_values=EncoderDecoderCache(own, cross), use_cache=True).logits
        return logits, *[state for layer in own.layers for state in (layer.keys, layer.values)]
    states = [torch.randn(1, 4, length, 64) for _ in range(layers) for length in (past, past, source, source)]
    return wrapped(call, model), [_ids(config, 1, 1), torch.randn(1, source, 256), *states]


def _pictures(what):
    """Text beside a picture."""
    import torch
    text = dict(vocab_size=2000, hidden_size=256, num_hidden_layers=2, num_attention_heads=4, intermediate_size=768,
                max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, projection_dim=128)
    vision = dict(hidden_size=256, num_hidden_layers=2, num_attention_heads=4, intermediate_size=768, image_size=112,
                  patch_size=16, projection_dim=128)
    ids, picture = torch.randint(5, 1999, (2, 24)), torch.randn(1, 3, 112, 112)
    ids[:, -1] = 2

    def of_both(kind, how, **extra):
        model = build(kind, how, dict(text_config={**text, **extra}, vision_config=vision, projection_dim=128))
        return wrapped(lambda m, ids, x: m(input_ids=ids, pixel_values=x).logits_per_image, model), (ids, picture)
    if what == 'clip':
        return of_both('CLIPModel', 'sdpa')
    if what == 'siglip':
        return of_both('SiglipModel', 'eager', projection_size=256)
    if what == 'clipseg':
        model = build('CLIPSegForImageSegmentation', 'eager', dict(
            text_config=text, vision_config={**vision, 'num_hidden_layers': 3}, projection_dim=128, reduce_dim=32,
            extract_layers=[0, 1, 2], decoder_num_attention_heads=2, decoder_intermediate_size=128))
        return wrapped(lambda m, ids, x: m(input_ids=ids, pixel_values=x).logits, model), (ids[:1], picture)
    if what == 'blip-text':
        model = build('BlipTextModel', 'eager', {**text, 'encoder_hidden_size': 256})
        return wrapped(lambda m, ids, mask: m(input_ids=ids, attention_mask=mask, is_decoder=False,
                                              use_cache=False).last_hidden_state, model), (ids, _tail(2, 24))
    if what == 'visual-bert':
        model = build('VisualBertModel', 'eager', {**text, 'visual_embedding_dim': 256})
        return wrapped(lambda m, ids, x: m(input_ids=ids, visual_embeds=x).last_hidden_state, model), (
            ids[:1], torch.randn(1, 36, 256))
    if what == 'lxmert':
        model = build('LxmertModel', 'eager', {**text, 'l_layers': 2, 'r_layers': 1, 'x_layers': 1,
                                               'visual_feat_dim': 256})
        return wrapped(lambda m, ids, x, boxes: (lambda r: (r.language_output, r.vision_output))(
            m(input_ids=ids, visual_feats=x, visual_pos=boxes)), model), (
            ids[:1], torch.randn(1, 36, 256), torch.rand(1, 36, 4))
    if what == 'flava-text':
        model = build('FlavaTextModel', 'eager', text)
        return wrapped(lambda m, ids: m(input_ids=ids).last_hidden_state, model), (ids,)
    raise ValueError(what)


PICTURES = '''blip-text clip clipseg flava-text lxmert siglip visual-bert'''.split()


def networks():
    for name, kind, tokens, how, config in ENCODERS + DECODERS + MIXTURES + RECURRENT:
        yield f'language/{name}', functools.partial(_text, kind, tokens, how, config)
    for name, kind, tokens, how, config in TRANSLATORS:
        yield f'language/{name}', functools.partial(_translator, kind, tokens, how, config)
    for name, kind, how, config, heads, width in STEPS:
        yield f'language/{name}-step', functools.partial(_step, kind, how, config, heads, width)
    for name, kind, how, config in TRANSLATOR_STEPS:
        yield f'language/{name}-step', functools.partial(_translator_step, kind, how, config)
    for what in PICTURES:
        yield f'language/{what}', functools.partial(_pictures, what)
