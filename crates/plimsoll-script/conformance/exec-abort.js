/* { "does": "test.abort ends the iteration and the test and cannot be caught", "abort": "test aborted: enough", "console": ["before"] } */
import exec from 'k6/execution';
export default function () {
  console.log('before');
  try { exec.test.abort('enough'); } catch (e) { console.log('caught'); } finally { console.log('finally'); }
}
