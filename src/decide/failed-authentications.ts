import { RATE_FAILED_AUTHENTICATIONS } from '../kernel/limits.ts';
import { SourceRate } from './source-rate.ts';

/** Counts failed authentications per source address. Source: contract, 3.9. */
export class FailedAuthentications extends SourceRate {
  constructor() {
    super(RATE_FAILED_AUTHENTICATIONS);
  }
}
