import type { Persona } from './plan.ts';
import { EVERYDAY_SHOPPERS } from './shoppers/everyday.ts';
import { MOVING_SHOPPERS } from './shoppers/moving.ts';
import { PAYING_SHOPPERS } from './shoppers/paying.ts';
import { SHARED_SHOPPERS } from './shoppers/shared.ts';

/** All shoppers. None of them may be challenged; a challenge is a false positive. */
export const SHOPPERS: readonly Persona[] = [
  ...EVERYDAY_SHOPPERS,
  ...SHARED_SHOPPERS,
  ...MOVING_SHOPPERS,
  ...PAYING_SHOPPERS,
];
