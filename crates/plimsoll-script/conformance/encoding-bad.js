/* { "does": "what is not base64 throws", "exception": "not base64" } */
import { b64decode } from 'k6/encoding';
export default function () {
  b64decode('***');
}
