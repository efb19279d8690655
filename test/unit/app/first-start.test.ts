import { expect, test } from 'vitest';
import { commandPrefix } from '../../../src/app/first-start.ts';

test('The first start names the command that works where it was started', () => {
  expect(commandPrefix('file:///srv/gatehouse/dist/app/main.js')).toBe('npm run -s gatehouse --');
  expect(commandPrefix('file:///srv/shop/node_modules/gatehouse/dist/app/main.js')).toBe('npx gatehouse');
});
