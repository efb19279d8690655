/**
 * Creates a small model for trying out the model file, and for tests:
 *
 *   node dist/scripts/make-model.js <folder> [variant]
 *
 * It is a toy. Its weights were set by hand so that automation, hosting networks and a bad network reputation raise the probability and a
 * plausible visitor stays low. It was never trained on data and is not part of the default decisions.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import onnxProto from 'onnx-proto';
import { helpIfAsked } from './usage.ts';

const { onnx } = onnxProto;

/** `good` and faulty variants. The service must reject the faulty ones, except `nan_later`, which it must survive. */
const VARIANTS = [
  'good',
  'wrong_sha256',
  'wrong_golden',
  'nan_output',
  'nan_later',
  'wrong_shape',
  'unknown_column',
  'garbage',
  'classifier',
] as const;
export type Variant = (typeof VARIANTS)[number];

export interface MadeModel {
  readonly onnx: Uint8Array;
  readonly manifest: string;
}

/** Two hidden units: how automated the client looks, and how bad its network is. */
const HIDDEN = ['automation', 'network'] as const;
/** Column → its weight for each hidden unit. */
const WEIGHTS: ReadonlyMap<string, readonly [number, number]> = new Map([
  ['agent:headless', [3, 0]],
  ['agent:http_library', [2.5, 0]],
  ['agent:bot', [2, 0]],
  ['token:webdriver', [2.5, 0]],
  ['token:collector', [-0.5, 0]],
  ['headers:accept_language', [-0.5, 0]],
  ['geo:tor', [0, 2.5]],
  ['geo:proxy', [0, 2]],
  ['geo:hosting', [0, 1.5]],
  ['registry:risk', [0.5, 2]],
]);
const HIDDEN_BIAS = [0, 0] as const;
const OUTPUT_WEIGHTS = [1.2, 0.9] as const;
const OUTPUT_BIAS = -3;

/** One row per kind of visitor; lists the columns that are not 0. */
const GOLDEN: readonly Readonly<Record<string, number>>[] = [
  {},
  { 'token:collector': 1, 'headers:accept_language': 1 },
  { 'agent:headless': 1 },
  { 'agent:headless': 1, 'geo:hosting': 1 },
  { 'agent:http_library': 1, 'geo:tor': 1, 'registry:risk': 0.9 },
  { 'geo:hosting': 1, 'headers:accept_language': 1 },
];

/**
 * Creates a model and its manifest. The same arguments give the same bytes. `version` also changes the bias, so the bytes of two versions
 * differ.
 */
export function makeModel(variant: Variant = 'good', version = '1'): MadeModel {
  const columns = [...WEIGHTS.keys()];
  const bias = OUTPUT_BIAS + (createHash('sha256').update(version).digest()[0] ?? 0) / 10_000;
  const bytes = variant === 'garbage' ? garbage() : encodeNetwork(variant, columns.length, bias);
  const golden = GOLDEN.map((row) => {
    const features = columns.map((column) => row[column] ?? 0);
    return { features, probability: evaluate(features, bias), tolerance: 0.0001 };
  });
  const [first, ...rest] = golden;
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const manifest = {
    name: 'toy',
    version,
    sha256: variant === 'wrong_sha256' ? '0'.repeat(64) : sha256,
    columns: variant === 'unknown_column' ? columns.with(0, 'agent:no_such_feature') : columns,
    golden:
      variant === 'wrong_golden' && first !== undefined
        ? [{ ...first, probability: first.probability + 0.2 }, ...rest]
        : golden,
  };
  return { onnx: bytes, manifest: `${JSON.stringify(manifest, null, 2)}\n` };
}

/** Writes both files, each replaced atomically. */
export function writeModel(folder: string, made: MadeModel): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of [
    ['model.onnx', made.onnx],
    ['model.json', made.manifest],
  ] as const) {
    writeFileSync(join(folder, `${name}.new`), content);
    renameSync(join(folder, `${name}.new`), join(folder, name));
  }
}

/** Evaluates the same network in plain JavaScript, for the golden rows. It shares no code with the encoding of the graph or its runtime. */
function evaluate(features: readonly number[], outputBias: number): number {
  const rows = [...WEIGHTS.values()];
  let logit = outputBias;
  for (const unit of HIDDEN.keys()) {
    let sum: number = HIDDEN_BIAS[unit] ?? 0;
    for (const [i, value] of features.entries()) sum += value * (rows[i]?.[unit] ?? 0);
    logit += Math.max(0, sum) * (OUTPUT_WEIGHTS[unit] ?? 0);
  }
  return 1 / (1 + Math.exp(-logit));
}

const FLOAT = onnx.TensorProto.DataType.FLOAT;
const INT64 = onnx.TensorProto.DataType.INT64;

function encodeNetwork(variant: Variant, width: number, outputBias: number): Uint8Array {
  const nodes: Node[] = [
    { opType: 'Gemm', input: ['features', 'w1', 'b1'], output: ['sums'], name: 'hidden' },
    { opType: 'Relu', input: ['sums'], output: ['units'], name: 'relu' },
    { opType: 'Gemm', input: ['units', 'w2', 'b2'], output: ['logit'], name: 'output' },
    { opType: 'Sigmoid', input: ['logit'], output: ['chance'], name: 'sigmoid' },
  ];
  const constants = [
    floats('w1', [width, HIDDEN.length], [...WEIGHTS.values()].flat()),
    floats('b1', [HIDDEN.length], HIDDEN_BIAS),
    floats('w2', [HIDDEN.length, 1], OUTPUT_WEIGHTS),
    floats('b2', [1], [outputBias]),
  ];
  const end = endOf(variant);
  const model = {
    irVersion: 7,
    producerName: 'gatehouse-toy',
    opsetImport: [{ domain: '', version: 13 }],
    graph: {
      name: 'toy',
      node: [...nodes, ...end.nodes],
      initializer: [...constants, ...end.constants],
      input: [value('features', FLOAT, width)],
      output: end.outputs,
    },
  };
  return onnx.ModelProto.encode(onnx.ModelProto.create(model)).finish();
}

interface Node {
  readonly opType: string;
  readonly input: string[];
  readonly output: string[];
  readonly name: string;
  readonly attribute?: object[];
}

interface NetworkEnd {
  readonly nodes: readonly Node[];
  readonly constants: readonly ReturnType<typeof floats>[];
  readonly outputs: ReturnType<typeof value>[];
}

/** The part of the network behind the value `chance`. */
function endOf(variant: Variant): NetworkEnd {
  const nodes: Node[] = [];
  const constants: ReturnType<typeof floats>[] = [];
  let outputs = [value('probability', FLOAT, 1)];
  switch (variant) {
    case 'nan_output':
      // The logarithm of a negative number.
      constants.push(floats('minus', [1], [-1]));
      nodes.push(
        { opType: 'Mul', input: ['chance', 'minus'], output: ['negative'], name: 'negate' },
        { opType: 'Log', input: ['negative'], output: ['probability'], name: 'log' },
      );
      break;
    case 'nan_later':
      // Correct while the logit is below 6, as in every golden row, and NaN above: adds 0 × log(6 - logit).
      constants.push(floats('six', [1], [6]), floats('zero', [1], [0]));
      nodes.push(
        { opType: 'Sub', input: ['six', 'logit'], output: ['room'], name: 'room' },
        { opType: 'Log', input: ['room'], output: ['log'], name: 'log' },
        { opType: 'Mul', input: ['log', 'zero'], output: ['nothing'], name: 'nothing' },
        { opType: 'Add', input: ['chance', 'nothing'], output: ['probability'], name: 'add' },
      );
      break;
    case 'wrong_shape':
      nodes.push({
        opType: 'Concat',
        input: ['chance', 'chance', 'chance'],
        output: ['probability'],
        name: 'thrice',
        attribute: [axis()],
      });
      outputs = [value('probability', FLOAT, 3)];
      break;
    case 'classifier':
      // The form in which converters write classifiers without a zip map: a label, and the probabilities of both classes.
      constants.push(floats('one', [1], [1]));
      nodes.push(
        { opType: 'Sub', input: ['one', 'chance'], output: ['other'], name: 'other' },
        { opType: 'Concat', input: ['other', 'chance'], output: ['probabilities'], name: 'both', attribute: [axis()] },
        {
          opType: 'ArgMax',
          input: ['probabilities'],
          output: ['label'],
          name: 'label',
          attribute: [axis(), { name: 'keepdims', type: onnx.AttributeProto.AttributeType.INT, i: 0 }],
        },
      );
      outputs = [value('label', INT64, null), value('probabilities', FLOAT, 2)];
      break;
    case 'good':
    case 'wrong_sha256':
    case 'wrong_golden':
    case 'unknown_column':
    case 'garbage':
      nodes.push({ opType: 'Identity', input: ['chance'], output: ['probability'], name: 'answer' });
  }
  return { nodes, constants, outputs };
}

function axis(): object {
  return { name: 'axis', type: onnx.AttributeProto.AttributeType.INT, i: 1 };
}

function floats(name: string, dims: readonly number[], values: readonly number[]) {
  return { name, dims: [...dims], dataType: FLOAT, floatData: [...values] };
}

/** A graph input or output with any number of rows. */
function value(name: string, elemType: number, width: number | null) {
  const dim = [{ dimParam: 'rows' }, ...(width === null ? [] : [{ dimValue: width }])];
  return { name, type: { tensorType: { elemType, shape: { dim } } } };
}

function garbage(): Uint8Array {
  return Uint8Array.from({ length: 4_096 }, (_, i) => (i * 37 + 11) & 255);
}

function isVariant(text: string): text is Variant {
  return VARIANTS.some((variant) => variant === text);
}

const [, script, folder, variant = 'good'] = process.argv;
if (script !== undefined && resolve(script) === fileURLToPath(import.meta.url)) {
  const usage = `make-model <folder> [${VARIANTS.join('|')}]`;
  helpIfAsked(usage);
  if (folder === undefined || folder.startsWith('-') || !isVariant(variant)) {
    console.error(`usage: ${usage}`);
    process.exitCode = 64;
  } else {
    writeModel(folder, makeModel(variant));
    console.log(`wrote model.onnx and model.json (${variant})`);
  }
}
