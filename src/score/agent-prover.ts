import type { LookUpMemory } from '../kernel/look-up-memory.ts';
import { SharedAnswers } from '../kernel/shared-answers.ts';
import type { DecideRequest } from '../risk/decide-request.ts';
import type { GeoFacts } from '../risk/facts.ts';
import { crawlerDomains, KEYS_QUESTION, nameQuestion } from '../risk/signals/agent-operators.ts';
import { type AgentProof, agentProofOf, type ClaimedAgent, isVerified } from '../risk/signals/claimed-agent.ts';
import { AgentSignatures } from './agent-signatures.ts';
import { askBeside, type AskingRequest } from './ask-beside.ts';

/** What look-ups beside the decisions found. */
export interface AgentProofs {
  readonly answers: Pick<SharedAnswers, 'ask' | 'find'>;
  readonly signatures: Pick<AgentSignatures, 'check'>;
}

export function openProofs(memory: LookUpMemory): AgentProofs {
  return { answers: new SharedAnswers(memory.answers), signatures: new AgentSignatures(memory) };
}

/** A request of which something can be proven. */
export interface ProvableRequest extends AskingRequest {
  readonly claimed: ClaimedAgent | null;
  readonly geo: GeoFacts | null;
  readonly request: Pick<DecideRequest, 'headers' | 'httpSignature'>;
}

interface ProofSources {
  crawlersKnown(): ReadonlySet<string>;
  readonly lookUps?: AgentProofs | null;
}

/** Proves which crawler or agent sends a request: by its address, then by the name of that, then by its signature. Waits for nothing. */
export class AgentProver {
  readonly #sources: ProofSources;

  constructor(sources: ProofSources) {
    this.#sources = sources;
  }

  prove(about: ProvableRequest): AgentProof | null {
    const { claimed } = about;
    const byAddress = claimed === null ? null : this.#byAddress(claimed, about);
    if (isVerified(byAddress)) return byAddress;
    const signer = this.#signerOf(about);
    // A signature proves nothing about a crawler of another operator.
    if (signer === null || (claimed !== null && claimed.operator !== signer.operator)) return byAddress;
    return { ...(claimed ?? signer), verified: 'signature' };
  }

  #byAddress(claimed: ClaimedAgent, about: ProvableRequest): AgentProof | null {
    const { ip, geo } = about;
    if (ip?.kind !== 'valid' || !ip.public) return null;
    const { lookUps = null } = this.#sources;
    let named = 0;
    if (lookUps !== null && geo?.crawler !== claimed.operator && crawlerDomains(claimed.operator).length > 0) {
      const question = nameQuestion(claimed.operator, ip.text);
      named = askBeside(lookUps.answers, question, about);
    }
    return agentProofOf(claimed, geo?.crawler, this.#sources.crawlersKnown(), named);
  }

  #signerOf(about: ProvableRequest): ClaimedAgent | null {
    const { request, customer, nowSeconds, isReal } = about;
    const { lookUps = null } = this.#sources;
    if (request.httpSignature === null || lookUps === null || !isReal) return null;
    const check = lookUps.signatures.check(request.httpSignature, request.headers, customer, nowSeconds);
    if (check.kind === 'refused') return null;
    // Also of keys that are known: they are fetched again, so that a removed one stops to verify.
    const question = `${KEYS_QUESTION} ${check.host}`;
    askBeside(lookUps.answers, question, about);
    return check.kind === 'genuine' ? check.signer : null;
  }
}
