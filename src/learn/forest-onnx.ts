import type { ForestFile } from '../risk/forest.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

/** Types of attributes. Source: onnx.proto, AttributeProto.AttributeType. */
const ATTRIBUTE = { float: 1, int: 2, string: 3, floats: 6, ints: 7, strings: 8 } as const;
const FLOAT = 1;
const IR_VERSION = 7;
const OPSET = 13;

/**
 * Returns the forest as a graph of ONNX: the sum of the trees (`TreeEnsembleRegressor`), then scale, shift and sigmoid. Input `features`,
 * `float32[rows, width]`; output `probability`, `float32[rows, 1]`.
 */
export function toOnnx(forest: ForestFile, width: number): Uint8Array {
  const graph = new ProtobufWriter()
    .message(1, treeNode(forest))
    .message(1, plainNode('Mul', ['raw', 'scale'], 'scaled'))
    .message(1, plainNode('Add', ['scaled', 'shift'], 'logit'))
    .message(1, plainNode('Sigmoid', ['logit'], 'probability'))
    .text(2, 'forest')
    .message(5, constant('scale', forest.scale))
    .message(5, constant('shift', forest.shift))
    .message(11, valueInfo('features', width))
    .message(12, valueInfo('probability', 1));
  return new ProtobufWriter()
    .int(1, IR_VERSION)
    .text(2, 'gatehouse')
    .message(7, graph)
    .message(8, new ProtobufWriter().text(1, '').int(2, OPSET))
    .message(8, new ProtobufWriter().text(1, 'ai.onnx.ml').int(2, 1))
    .bytes();
}

function plainNode(type: string, inputs: readonly string[], output: string): ProtobufWriter {
  const node = new ProtobufWriter();
  for (const input of inputs) node.text(1, input);
  return node.text(2, output).text(3, output).text(4, type);
}

function treeNode({ base, starts, column, threshold, left, right, value }: ForestFile): ProtobufWriter {
  const trees = starts.flatMap((start, tree) =>
    Array.from({ length: (starts[tree + 1] ?? column.length) - start }, () => tree),
  );
  // Nodes are numbered within their tree.
  const local = (node: number): number => node - (starts[trees[node] ?? 0] ?? 0);
  const nodes = [...column.keys()];
  const leaves = nodes.filter((node) => column[node] === -1);
  const child = (list: readonly number[]): number[] =>
    nodes.map((node) => (column[node] === -1 ? 0 : local(list[node] ?? 0)));
  return plainNode('TreeEnsembleRegressor', ['features'], 'raw')
    .message(5, ints('nodes_treeids', trees))
    .message(5, ints('nodes_nodeids', nodes.map(local)))
    .message(
      5,
      ints(
        'nodes_featureids',
        column.map((at) => Math.max(0, at)),
      ),
    )
    .message(
      5,
      strings(
        'nodes_modes',
        column.map((at) => (at === -1 ? 'LEAF' : 'BRANCH_LEQ')),
      ),
    )
    .message(5, floats('nodes_values', threshold))
    .message(5, ints('nodes_truenodeids', child(left)))
    .message(5, ints('nodes_falsenodeids', child(right)))
    .message(
      5,
      ints(
        'target_treeids',
        leaves.map((node) => trees[node] ?? 0),
      ),
    )
    .message(5, ints('target_nodeids', leaves.map(local)))
    .message(
      5,
      ints(
        'target_ids',
        leaves.map(() => 0),
      ),
    )
    .message(
      5,
      floats(
        'target_weights',
        leaves.map((node) => value[node] ?? 0),
      ),
    )
    .message(5, floats('base_values', [base]))
    .message(5, attribute('n_targets', ATTRIBUTE.int).int(3, 1))
    .message(5, attribute('aggregate_function', ATTRIBUTE.string).text(4, 'SUM'))
    .message(5, attribute('post_transform', ATTRIBUTE.string).text(4, 'NONE'))
    .text(7, 'ai.onnx.ml');
}

function attribute(name: string, type: number): ProtobufWriter {
  return new ProtobufWriter().text(1, name).int(20, type);
}

function ints(name: string, values: readonly number[]): ProtobufWriter {
  const written = attribute(name, ATTRIBUTE.ints);
  for (const value of values) written.int(8, value);
  return written;
}

function floats(name: string, values: readonly number[]): ProtobufWriter {
  const written = attribute(name, ATTRIBUTE.floats);
  for (const value of values) written.float(7, value);
  return written;
}

function strings(name: string, values: readonly string[]): ProtobufWriter {
  const written = attribute(name, ATTRIBUTE.strings);
  for (const value of values) written.text(9, value);
  return written;
}

/** A constant of one element. */
function constant(name: string, value: number): ProtobufWriter {
  return new ProtobufWriter().int(1, 1).int(2, FLOAT).float(4, value).text(8, name);
}

/** A graph's input or output, `float32[rows, width]`. */
function valueInfo(name: string, width: number): ProtobufWriter {
  const shape = new ProtobufWriter()
    .message(1, new ProtobufWriter().text(2, 'rows'))
    .message(1, new ProtobufWriter().int(1, width));
  const tensor = new ProtobufWriter().int(1, FLOAT).message(2, shape);
  return new ProtobufWriter().text(1, name).message(2, new ProtobufWriter().message(1, tensor));
}
