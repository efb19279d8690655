import type { Line } from './addresses.ts';
import type { Country } from './calendar.ts';
import type { Customer } from './customers.ts';
import type { Device } from './devices.ts';
import type { Account } from './identities.ts';

/** A user of one customer's site or app. */
export interface Person {
  readonly id: number;
  /** Reason for the person's behaviour. */
  readonly kind: string;
  readonly isOrdinary: boolean;
  readonly customer: Customer;
  readonly country: Country;
  readonly line: Line;
  /** The gateways of the carrier that the phone uses; each for hours at a time. */
  readonly gateways: readonly string[];
  readonly account: Account;
  /** Buys without an account. */
  readonly isGuest: boolean;
  /** Has no account yet: signs up on the first visit. */
  readonly isNew: boolean;
  readonly card: string;
  readonly computer: Device;
  readonly phone: Device;
  readonly hidesReferrer: boolean;
  /** Blocks scripts, including the collector. */
  readonly blocksCollector: boolean;
  /** Share of logins that begin with a wrong password. */
  readonly mistakes: number;
}
