import type { Persona } from './plan.ts';
import { EVERYDAY_SHOPPERS } from './shoppers/everyday.ts';
import { MOVING_SHOPPERS } from './shoppers/moving.ts';
import { PAYING_SHOPPERS } from './shoppers/paying.ts';
import { SHARED_SHOPPERS } from './shoppers/shared.ts';

/** Honest people. Each of them must get through; whoever is challenged here is a false alarm. */
export const SHOPPERS: readonly Persona[] = [
  ...EVERYDAY_SHOPPERS,
  ...SHARED_SHOPPERS,
  ...MOVING_SHOPPERS,
  ...PAYING_SHOPPERS,
];
