import { expect, it } from 'vitest';
import { BufferDepth, maxDepth } from './buffer-depth.js';

it('holds nothing ready before it has seen an attempt', () => {
  const depth = new BufferDepth(10);
  depth.grow();
  expect(depth.target(0)).toBe(0);
});

it('grows fourfold while claims come back full, up to its most', () => {
  const depth = new BufferDepth(10);
  depth.observe(0.01);
  const targets: number[] = [];
  for (let claim = 0; claim < 8; claim += 1) {
    depth.grow();
    targets.push(depth.target(0));
  }
  expect(targets).toEqual([10, 40, 160, 640, maxDepth, maxDepth, maxDepth, maxDepth]);
});

it('holds at most what 200 ms will start', () => {
  const depth = new BufferDepth(10);
  depth.observe(100);
  for (let claim = 0; claim < 8; claim += 1) depth.grow();
  expect(depth.target(0)).toBe(20);
  for (let attempt = 0; attempt < 200; attempt += 1) depth.observe(5_000);
  expect(depth.target(0)).toBe(0);
});
