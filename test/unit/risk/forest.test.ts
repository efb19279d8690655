import { describe, expect, it } from 'vitest';
import { type ForestFile, parseForest } from '../../../src/risk/forest.ts';

/** Two trees over two columns: a split with a leaf and another split below it, and a single leaf. */
const FILE: ForestFile = {
  format: 'gatehouse-forest',
  base: -1,
  scale: 2,
  shift: 0.5,
  starts: [0, 5],
  column: [0, -1, 1, -1, -1, -1],
  threshold: [0.5, 0, 3, 0, 0, 0],
  left: [1, 0, 3, 0, 0, 0],
  right: [2, 0, 4, 0, 0, 0],
  value: [0.25, -0.5, 1, 0.5, 2, 0.125],
};

function forest(file: object = FILE, width = 2) {
  const parsed = parseForest(JSON.stringify(file), width);
  if (parsed.kind === 'fault') throw new Error(parsed.detail);
  return parsed.forest;
}

const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

describe('Forest', () => {
  it.each([
    [[0, 9], -0.5],
    [[0.5, 9], -0.5],
    [[0.75, 3], 0.5],
    [[1, 4], 2],
  ])('probability of the row %j follows its path', (row, leaf) => {
    expect(forest().probability(Float32Array.from([7, ...row]), 1)).toBeCloseTo(
      sigmoid(2 * (-1 + leaf + 0.125) + 0.5),
      12,
    );
  });

  it('The shares of a row and the starting logit add up to its logit, the largest share first', () => {
    const row = Float32Array.from([1, 4]);
    const shares = forest().shares(row, 0);
    expect(shares).toEqual([
      { column: 1, share: 2 },
      { column: 0, share: 1.5 },
    ]);
    const sum = shares.reduce((total, { share }) => total + share, forest().startingLogit());
    expect(sigmoid(sum)).toBeCloseTo(forest().probability(row, 0), 12);
  });
});

describe('parseForest', () => {
  const chain = Array.from({ length: 65 }, (_, node) => node);
  const deep = {
    ...FILE,
    starts: [0],
    column: chain.map((node) => (node % 2 === 0 && node < 64 ? 0 : -1)),
    threshold: chain.map(() => 0),
    left: chain.map((node) => node + 1),
    right: chain.map((node) => node + 2),
    value: chain.map(() => 0),
  };
  it.each<[string, unknown, string]>([
    ['text that is not JSON', '{', 'not JSON'],
    ['a number', 1, 'not an object'],
    ['another format', { ...FILE, format: 'onnx' }, 'format'],
    ['no trees', { ...FILE, starts: [] }, '1 to 2000 trees'],
    ['too many trees', { ...FILE, starts: Array.from({ length: 2001 }, (_, at) => at) }, '1 to 2000 trees'],
    ['no nodes', { ...FILE, column: [] }, 'nodes'],
    ['too many nodes', { ...FILE, column: Array.from({ length: 250_001 }, () => -1) }, 'nodes'],
    ['a short list', { ...FILE, value: [0] }, '"value" must have 6 elements'],
    ['a base that is no number', { ...FILE, base: null }, '"base"'],
    ['an infinite scale', JSON.stringify(FILE).replace('"scale":2', '"scale":1e999'), '"scale"'],
    ['a threshold beyond 32 bits', { ...FILE, threshold: [1e300, 0, 3, 0, 0, 0] }, '"threshold" of node 0'],
    ['a leaf of text', { ...FILE, value: [0, 'x', 0, 0, 0, 0] }, '"value" of node 1'],
    ['a column with a fraction', { ...FILE, column: [0.5, -1, 1, -1, -1, -1] }, '"column" of node 0'],
    ['an unknown column', { ...FILE, column: [2, -1, 1, -1, -1, -1] }, 'column 2 of 2'],
    ['a negative column', { ...FILE, column: [-2, -1, 1, -1, -1, -1] }, 'column -2'],
    ['a node that is its own child', { ...FILE, left: [0, 0, 3, 0, 0, 0] }, 'does not come after it'],
    ['a child in the next tree', { ...FILE, right: [5, 0, 4, 0, 0, 0] }, 'does not come after it'],
    ['a child before its parent', { ...FILE, left: [1, 0, 1, 0, 0, 0] }, 'does not come after it'],
    ['a node with two parents', { ...FILE, left: [2, 0, 3, 0, 0, 0] }, 'has two parents'],
    ['a node without a parent', { ...FILE, left: [3, 0, 3, 0, 0, 0] }, 'no parent'],
    ['a tree that begins after the first node', { ...FILE, starts: [1, 5] }, 'tree 0'],
    ['a tree beyond the last node', { ...FILE, starts: [0, 5, 6] }, 'tree 2'],
    ['trees out of order', { ...FILE, starts: [0, 5, 5] }, 'tree 1'],
    ['a tree of 33 levels', deep, 'deeper than 32'],
  ])('parseForest refuses %s', (_name, file, detail) => {
    const parsed = parseForest(typeof file === 'string' ? file : JSON.stringify(file), 2);
    expect(parsed).toMatchObject({ kind: 'fault' });
    expect(parsed.kind === 'fault' && parsed.detail).toContain(detail);
  });
});
