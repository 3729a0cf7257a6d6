/* { "own_context": "promises", "does": "async functions are refused as groups", "exception": "async" } */
import { group } from 'k6';
export default function () { group('g', async () => 1); }
