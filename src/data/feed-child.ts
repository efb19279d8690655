import { checkOnRequest } from '../assets/check-child.ts';
import { doFeedWork, type FeedRequest } from './feed-work.ts';

/** Reads and compiles feeds in a process of its own: what it is asked comes from `updateFeeds` alone. */
checkOnRequest((request) => Promise.resolve(doFeedWork(JSON.parse(request) as FeedRequest)));
