import { checkOnRequest } from '../assets/check-child.ts';
import { checkModel } from './model-check.ts';

/** Checks the models whose paths the parent sends, in a process of its own, which ends without unloading the runtime. */
checkOnRequest(checkModel);
