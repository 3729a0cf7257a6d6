/* { "does": "NTLM says that it is not there yet", "exception": "ntlm" } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/', { auth: 'ntlm' });
}
