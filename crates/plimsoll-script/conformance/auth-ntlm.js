/* { "does": "NTLM says that it is not there yet", "k6": "k6 speaks NTLM", "exception": "ntlm" } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/', { auth: 'ntlm' });
}
